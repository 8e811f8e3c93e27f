"""Sobol points, against SciPy's and by what defines them."""

import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.stats import qmc

from bayesvb.numerics.sobol import sobol_points


@pytest.mark.parametrize("n_points", [2, 256, 4096])
@pytest.mark.parametrize("n_dims", [1, 3, 24, 30])
def test_points_are_those_of_scipy(n_dims, n_points):
    expected = qmc.Sobol(n_dims, seed=np.random.default_rng(0)).random(n_points)
    assert_array_equal(sobol_points(n_dims, n_points), expected)


@pytest.mark.parametrize("n_dims", [1, 7, 24])
def test_each_interval_has_one_point(n_dims):
    intervals = np.sort((sobol_points(n_dims, 64) * 64).astype(int), axis=0)
    assert_array_equal(intervals, np.tile(np.arange(64)[:, None], (1, n_dims)))


def test_points_need_no_import_of_statistics():
    code = (
        "import sys\n"
        "from bayesvb.numerics.special import normal_points\n"
        "normal_points(5)\n"
        "assert 'scipy.stats' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
