"""What all tests share: the import path, a random generator, a quiet plotting backend."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parents[1]

# `python -m pytest` puts the checkout on the path. Its folders `reports` and `datasets` would then
# be importable under names they do not have, and after a plain install hide `bayesvb.reports`.
sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != ROOT]

os.environ.setdefault("MPLBACKEND", "Agg")

# Times per example say nothing on a shared machine. In CI the examples are the same each time.
settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20260711)
