"""Predictive distributions: densities sum to one, kinds of prediction agree, draws follow them."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from bayesvb.results.criteria import predictive_log_lik

DRAWS = 4000

APPROXIMATE = {"student": 0.005, "ordinal": 0.02, "ordinal-probit": 0.02}
"""Relative error of predictive densities that are not integrated exactly, and of an ordinal one, in
which thresholds and intercept are independent (measured)."""


def axis(n_points: int) -> tuple[np.ndarray, np.ndarray]:
    """Points from minus to plus 4000, dense at zero, and their weights in an integral."""
    at, step = np.linspace(-9.0, 9.0, n_points, retstep=True)
    return np.sinh(at), step * np.cosh(at)


def grid_over(row: pd.DataFrame, columns: tuple[str, ...]) -> tuple[pd.DataFrame, np.ndarray]:
    """The row with every value of the columns, around its own, and weights in an integral."""
    points, weights = axis(721 if len(columns) == 1 else 361)
    shifts = np.meshgrid(*[points] * len(columns), indexing="ij")
    weight = np.prod(np.meshgrid(*[weights] * len(columns), indexing="ij"), axis=0).ravel()
    rows = row.loc[row.index.repeat(weight.size)].reset_index(drop=True)
    moved = {name: rows[name] + at.ravel() for name, at in zip(columns, shifts, strict=True)}
    return rows.assign(**moved), weight


@pytest.mark.parametrize("place", [0, 4])
@pytest.mark.quick(place=(4,))
def test_the_density_of_a_row_integrates_to_one(fit, case, new, place):
    row = new.iloc[[place]]
    if case.number is None:
        levels = [row.assign(label=level) for level in fit.model.design.class_labels]
        total, expected = np.exp(fit.log_density(pd.concat(levels))).sum(), 1.0
    elif case.is_discrete:
        possible = fit.model.design.order.values or range(60)
        values = [row.assign(**{case.explains[0]: value}) for value in possible]
        total, expected = np.exp(fit.log_density(pd.concat(values))).sum(), 1.0
    else:  # of three variables over one, which leaves the density of the others
        over = case.explains if len(case.explains) < 3 else case.explains[:1]
        rest = row.assign(**dict.fromkeys(over, np.nan))
        if case.is_positive:  # integral over the logarithm
            logs, weight = grid_over(np.log(row[[*over]]).assign(x=row["x"], z=row["z"]), over)
            near = logs[over[0]].abs() < 30.0
            rows = logs[near].assign(**{over[0]: np.exp(logs.loc[near, over[0]])})
            weight = weight[near] * rows[over[0]]
        else:
            rows, weight = grid_over(row, over)
        total = weight @ np.exp(fit.log_density(rows))
        expected = 1.0 if over == case.explains else np.exp(fit.log_density(rest)).item()
    assert total == pytest.approx(expected, rel=1e-6)


def test_the_log_density_is_that_of_the_density(fit, case, new):
    if case.number is None:
        found = fit.predict(new, "probability")
        expected = [found.loc[row, label] for row, label in new["label"].items()]
    elif "density" in fit.model.own_kinds:
        expected = fit.predict(new, "density")
    elif len(case.explains) == 1:
        expected = fit.predict(new, "density", at=new[case.explains[0]])
    else:  # the joint density of two over one of them is the density of the other
        rows, weight = grid_over(new.iloc[[0]], ("u",))
        total = weight @ np.exp(fit.log_density(rows))
        at = fit.predict(new, "density", at=new["y"], response="y").iloc[0]
        assert total == pytest.approx(at, rel=1e-6)
        return
    assert_allclose(fit.log_density(new), np.log(expected), rtol=0, atol=1e-9)


def test_kinds_of_prediction_of_a_number_agree(fit, case, table):
    if case.number is None:
        assert_allclose(fit.predict(kind="probability").sum(axis=1), 1.0, rtol=1e-12)
        likely = fit.predict(kind="probability").idxmax(axis=1)
        assert fit.predict(kind="class").astype(str).tolist() == likely.tolist()
        return

    def ask(kind, **options):
        return fit.predict(table.head(20), kind, **options, **case.number)

    quantiles = ask("quantile", q=[0.055, 0.5, 0.945])
    distribution = fit.predictive(table.head(20), **case.number)
    assert_allclose(ask("interval"), quantiles[[0.055, 0.945]], rtol=1e-9)
    assert_allclose(ask("component").sum(axis=1), 1.0, rtol=1e-9)
    assert_array_equal(ask("mean"), distribution.mean())
    assert_array_equal(ask("sd"), distribution.sd())
    for q, at in quantiles.items():
        if case.is_discrete:
            assert ((ask("cdf", at=at) >= q) & (ask("cdf", at=at - 1.0) < q)).all()
            assert_array_equal(ask("probability", at=at), ask("density", at=at))
            continue
        assert_allclose(ask("cdf", at=at), q, rtol=1e-7)
        step = 1e-4 * ask("sd")
        slope = (ask("cdf", at=at + step) - ask("cdf", at=at - step)) / (2.0 * step)
        assert_allclose(ask("density", at=at), slope, rtol=1e-4)


def test_draws_of_responses_have_the_predicted_distribution(fit, case, table):
    """Within 4.5 standard errors: one in 150 000 is further away."""
    if case.number is None:
        pytest.skip("classes are not drawn")
    rows = table.head(20)
    draws = fit.predict(rows, "draws", n=DRAWS, seed=1, **case.number)
    for q, at in fit.predict(rows, "quantile", q=[0.1, 0.5, 0.9], **case.number).items():
        if case.is_discrete:
            continue
        error = (q * (1.0 - q) / DRAWS) ** 0.5
        assert_allclose(draws.lt(at, axis=0).mean(axis=1), q, rtol=0, atol=4.5 * error)
    mean, sd = (fit.predict(rows, kind, **case.number) for kind in ("mean", "sd"))
    assert ((draws.mean(axis=1) - mean).abs() < 4.5 * sd / DRAWS**0.5).all()


def test_the_density_is_the_mean_over_draws_of_the_parameters(case, table):
    fit = case.brief_fit(case.model(table), draws=DRAWS, max_iter=30)
    likelihood = np.exp(np.concatenate(list(predictive_log_lik(fit)), axis=1))
    error = 4.5 * likelihood.std(axis=0) / DRAWS**0.5
    density = np.exp(fit.log_density())
    apart = np.abs(likelihood.mean(axis=0) - density)
    assert (apart < error + APPROXIMATE.get(case.family, 0.0) * density).all()
