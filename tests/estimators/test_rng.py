"""``rng=`` beside ``seed=``, as Scientific Python's SPEC 7 has it."""

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.errors import DataError

DATA = bvb.datasets.load("faithful").iloc[:80]


def model() -> bvb.DensityRegression:
    return bvb.DensityRegression("waiting ~ eruptions", DATA, n_components=1)


def test_a_whole_number_is_the_seed():
    pd.testing.assert_frame_equal(model().fit(rng=3).summary(), model().fit(seed=3).summary())
    assert model().fit(rng=np.int64(3)).seed == 3


def test_a_generator_is_advanced():
    rng = np.random.default_rng(1)
    first, second = model().fit(rng=rng), model().fit(rng=rng)
    again = model().fit(rng=np.random.default_rng(1))
    assert first.seed != second.seed
    assert again.seed == first.seed


@pytest.mark.parametrize("rng", [None, np.random.SeedSequence(1), np.random.PCG64(1)])
def test_whatever_makes_a_generator_is_taken(rng):
    assert model().fit(rng=rng).seed >= 0


def test_every_function_with_a_seed_takes_it():
    fit = model().fit(seed=1)
    given = fit.predict(kind="draws", n=3, rng=np.random.default_rng(2))
    again = fit.predict(kind="draws", n=3, rng=np.random.default_rng(2))
    pd.testing.assert_frame_equal(given, again)
    assert fit.refit(rng=5).seed == 5
    assert bvb.select(model(), [1], rng=4).best.seed == 4
    simulated = [bvb.datasets.load("dpmix1", n=20, rng=np.random.default_rng(1)) for _ in range(2)]
    pd.testing.assert_frame_equal(*simulated)


def test_wrong_ones_are_errors():
    with pytest.raises(DataError, match="seed= and rng="):
        model().fit(seed=1, rng=1)
    with pytest.raises(DataError, match="rng='a'"):
        model().fit(rng="a")
    with pytest.raises(DataError, match="seed=-1"):
        model().fit(rng=-1)


def test_functions_without_randomness_have_no_rng():
    with pytest.raises(DataError, match="rng"):
        model().fit(seed=1).summary(rng=1)
