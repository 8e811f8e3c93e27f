"""The progress line: on terminals only, and gone in the end."""

from io import BytesIO, TextIOWrapper

from bayesvb.cli.progress import ERASE, WIDTH, progress_line, progress_text


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
    assert progress_text(0, 2, 7).endswith("restart 1 of 2, pass 7")
    assert progress_text(0, 2, 8, 0.25).endswith("restart 1 of 2, pass 8, bound +0.25")


def test_the_bar_fills_with_the_restarts():
    filled = [progress_text(run, 6, 1).count("#") for run in range(7)]
    assert filled == [WIDTH * run // 6 for run in range(7)]


def test_pictures_that_cannot_be_read_are_left_out():
    stream = Terminal()
    with progress_line(3, stream) as progress:
        for passes in range(1000):
            progress(0, passes, 0.0)
    assert stream.written().count(ERASE) < 20
