"""Starts from a similar fit: its components and empty ones, and few others after them."""

import numpy as np
import pandas as pd

import bayesvb as bvb
from bayesvb.estimators.near_start import NAME, near_start
from bayesvb.estimators.rebuilding import rebuilt


def test_few_starts_follow_a_fit_that_none_of_them_exceeds():
    rng = np.random.default_rng(4)
    data = pd.DataFrame({"x": rng.normal(size=80)})
    data["y"] = np.where(rng.random(80) < 0.5, 3.0, -3.0) + data["x"] + 0.3 * rng.normal(size=80)
    model = bvb.DensityRegression("y ~ x", data, n_components=2)
    fit = model.fit(seed=1, restarts=2, covariance="mean-field")
    start = near_start(fit, 3)
    known = start.partition.responsibilities(model.source.whole())
    assert known.shape == (3, 80) and not known[2].any()
    more = rebuilt(model, n_components=3).starting_near(start)
    again = more.fit(seed=1, restarts=8, covariance="mean-field")
    names = again.restarts["initialisation"].tolist()
    assert names == ["k-means", "residuals", "random", "two components", NAME]
    assert again.model.known_start is None  # the next fit is any fit
    all_starts = rebuilt(model, n_components=3).fit(seed=1, covariance="mean-field")
    assert again.elbo > all_starts.elbo - 0.05


def test_components_with_an_order_start_from_no_other_fit():
    rng = np.random.default_rng(1)
    data = pd.DataFrame({"x": rng.normal(size=40), "y": rng.normal(size=40)})
    model = bvb.DensityRegression("y ~ x", data, n_components=2, gate="stick-breaking")
    assert near_start(model.fit(seed=1, restarts=1, max_iter=500), 3) is None
