"""A notebook shows a figure once, whether pyplot shows it or not."""

import pickle
import sys
from types import SimpleNamespace

import matplotlib.pyplot as plt
import pytest

from bayesvb.drawing.notebooks import shown_once


@pytest.fixture
def shown(monkeypatch):
    """Pictures that a notebook would show."""
    pictures = []
    fake = SimpleNamespace(Image=lambda data: data, display=pictures.append)
    shell = SimpleNamespace(display=fake, version_info=(8, 24), get_ipython=lambda: None)
    monkeypatch.setitem(sys.modules, "IPython", shell)  # pyplot asks it for its version
    monkeypatch.setitem(sys.modules, "IPython.display", fake)
    return pictures


@pytest.mark.parametrize("backend", ["inline", "agg"])
def test_a_figure_is_shown_and_closed_where_pyplot_would_show_it_again(backend, shown, monkeypatch):
    figure = shown_once(plt.figure(figsize=(1.0, 1.0)))
    monkeypatch.setattr("matplotlib.get_backend", lambda: backend)
    figure._ipython_display_()
    assert shown[0].startswith(b"\x89PNG")
    assert plt.get_fignums() == ([] if backend == "inline" else [figure.number])
    figure._ipython_display_()
    assert len(shown) == 2  # a later cell shows it again
    assert pickle.loads(pickle.dumps(figure)).get_figwidth() == 1.0
