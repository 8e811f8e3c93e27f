"""Versions of all that results may depend on."""

import numpy as np

import bayesvb as bvb
from bayesvb.numerics import versions


def test_each_package_has_a_line(capsys, monkeypatch):
    monkeypatch.setattr(versions, "PACKAGES", ("numpy", "no-such-package"))
    bvb.show_versions()
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == [f"numpy: {np.__version__}", "no-such-package: not installed"]
    assert lines[2].startswith("python: 3.")
    assert lines[3].startswith("compiled core: ")
