"""The progress line: on terminals only, and gone in the end."""

import sys
from io import BytesIO, TextIOWrapper
from types import ModuleType, SimpleNamespace

import bayesvb as bvb
from bayesvb.engines.progress import (
    ERASE,
    WIDTH,
    _Line,
    progress_line,
    progress_text,
    progress_told,
)


class Pipe(TextIOWrapper):
    def __init__(self):
        super().__init__(BytesIO(), encoding="utf-8", write_through=True)

    def written(self):
        return self.buffer.getvalue().decode()


class Terminal(Pipe):
    def isatty(self):
        return True


def test_nothing_is_written_to_a_pipe():
    stream = Pipe()
    with progress_line(3, stream) as progress:
        assert progress is None
    assert stream.written() == ""


def test_the_line_is_erased_at_the_end_also_after_an_error():
    stream = Terminal()
    try:
        with progress_line(3, stream) as progress:
            progress(0, 5, -10.0)
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        pass
    assert stream.written().endswith(ERASE)


def test_the_line_shows_the_gain_within_a_restart_only():
    assert progress_text(0, 2, 7).endswith("restart 1 of 2, iteration 7")
    assert progress_text(0, 2, 8, 0.25).endswith("restart 1 of 2, iteration 8, ELBO +0.25")


def test_the_bar_fills_with_the_restarts():
    filled = [progress_text(run, 6, 1).count("#") for run in range(7)]
    assert filled == [WIDTH * run // 6 for run in range(7)]


def test_pictures_that_cannot_be_read_are_left_out():
    stream = Terminal()
    with progress_line(3, stream) as progress:
        for passes in range(1000):
            progress(0, passes, 0.0)
    assert stream.written().count(ERASE) < 20


def test_what_remains_is_as_long_as_what_is_done():
    now = [0.0]
    line = _Line(4, Terminal(), lambda: now[0])
    line(0, 1, 0.0)
    assert line.seconds_left(0.0) is None
    now[0] = 10.0
    line(1, 1, 0.0)
    assert line.seconds_left(10.0) == 30.0
    assert line.seconds_left(14.0) == 26.0
    assert line.seconds_left(100.0) == 0.0
    line(4, 1, 0.0)  # the best one, on all rows
    assert line.seconds_left(14.0) is None


def test_the_bar_stays_where_the_best_restarts_continue():
    stream, now = Terminal(), iter(range(100))
    line = _Line(4, stream, lambda: float(next(now)))
    for run in (0, 1, 2, 3, 1):
        line(run, 9, 0.0)
    last = stream.written().split(ERASE)[-1]
    assert last.count("#") == 3 * WIDTH // 4
    assert last.endswith("restart 2 of 4 continues, iteration 9")


class Notebook(Pipe):
    __module__ = "ipykernel.iostream"


def test_a_notebook_has_one_output_that_is_empty_at_the_end(monkeypatch):
    shown = []
    handle = SimpleNamespace(update=lambda data, raw: shown.append(data["text/plain"]))

    def display(data, raw, display_id):
        shown.append(data["text/plain"])
        return handle

    monkeypatch.setitem(sys.modules, "IPython", ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    stream = Notebook()
    with progress_told(True, 3, stream) as progress:
        progress(0, 5, -10.0)
    assert stream.written() == "" and "restart 1 of 3" in shown[0] and shown[-1] == ""
    assert not any("\x1b" in text or "\r" in text for text in shown)


def test_a_log_has_a_line_per_restart_and_a_function_is_itself():
    stream = Pipe()
    with progress_told(True, 2, stream) as told:
        for run in (0, 0, 1):
            told(run, 1, 0.0)
    assert stream.written().count("\n") == 2
    with progress_told(False, 2, stream) as told:
        assert told is None
    with progress_told(print, 2, stream) as told:
        assert told is print


def test_a_fit_shows_its_progress(regimes, capsys):
    model = bvb.DensityRegression("y ~ x", regimes, n_components=2)
    model.fit(seed=1, restarts=2, draws=30, covariance="mean-field", progress=True)
    assert "restart 2 of 2" in capsys.readouterr().err
