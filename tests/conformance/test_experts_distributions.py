"""Every family of experts of a regression: drawn and predictive distributions, and units."""

from dataclasses import dataclass

import numpy as np
import pytest
import scipy.stats
from numpy.testing import assert_allclose, assert_array_equal

from bayesvb.data.blocks import Block
from bayesvb.data.column_moments import ColumnMoments
from bayesvb.data.responses import AllResponses
from bayesvb.data.scaling import Scaling
from bayesvb.data.standardised_blocks import Scales
from bayesvb.experts.regression import RegressionUnits

STANDARD = Scaling(np.zeros(2), np.ones(2), None)


@pytest.fixture
def one_expert(experts_of):
    """Experts with their posterior, or with copies of one draw from it, and the rows."""

    def build(density_kind, *, responses=1, seed=0, n=None):
        """A posterior of one expert, and so many copies of one draw from it."""
        rng = np.random.default_rng(seed)
        x = np.vstack([np.ones(60), rng.normal(size=60)])
        y = rng.normal(size=(responses, 2)) @ x + 0.5 * rng.standard_t(4.0, size=(responses, 60))
        experts = experts_of(density_kind, n_responses=responses)
        block = Block({"mean": x}, y)
        stats = experts.global_step(None, experts.partition_stats(np.ones((1, 60)), block))
        for _ in range(30):
            posterior = experts.update(stats)
            found = experts.local(posterior, block).sufficient_stats(np.ones((1, 60)))
            stats = experts.global_step(posterior, found)
        posterior = experts.update(stats)
        if n is None:
            return experts, posterior, block
        draws = experts.draws(posterior, 1, rng)
        return experts, {name: np.repeat(v, n, axis=0) for name, v in draws.items()}, block

    return build


# -- drawn distributions -------------------------------------------------------------------------


def drawn_of(experts, draws, block, response, scaling=STANDARD):
    n = len(draws["precision"])
    return experts.drawn(draws, np.ones((n, 1, 1)), block, response, scaling)


@pytest.mark.parametrize("responses", [1, 2])
def test_drawn_densities_are_the_likelihood(density_kind, responses, one_expert):
    """In the data's units too, up to the logarithm of the units."""
    experts, draws, block = one_expert(density_kind, responses=responses, n=3)
    scaling = Scaling(np.array([2.0, -1.0]), np.array([10.0, 0.3]), None)
    expected = experts.log_lik(draws, block)[:, 0]
    mixtures = [drawn_of(experts, draws, block, i) for i in range(responses)]
    in_units = [drawn_of(experts, draws, block, i, scaling) for i in range(responses)]
    for row in range(block.n_rows):
        density, given = 0.0, 0.0
        for i in range(responses):
            y = float(block.response[i, row])
            density += np.log(mixtures[i].density(y)[:, row])
            there = scaling.centre[i] + scaling.scale[i] * y
            given += np.log(in_units[i].density(there)[:, row]) + np.log(scaling.scale[i])
        assert_allclose(density, expected[:, row], rtol=1e-10)
        assert_allclose(given, expected[:, row], rtol=1e-10)


@pytest.mark.parametrize("responses", [1, 2])
def test_drawn_responses_follow_the_drawn_distribution(density_kind, responses, rng, one_expert):
    """Kolmogorov and Smirnov's distance, and Pearson's correlation of independent responses."""
    n = 20_000
    experts, draws, block = one_expert(density_kind, responses=responses, n=n)
    row = block.part(4, 5)
    y = experts.responses(draws, np.zeros((n, 1), dtype=int), row, rng)[:, :, 0]
    one = {name: values[:1] for name, values in draws.items()}
    for i in range(responses):
        mixture = drawn_of(experts, one, row, i)
        values = np.sort(y[:, i])[:: n // 200]
        below = np.array([mixture.below(float(v))[0, 0] for v in values])
        place = np.arange(0, n, n // 200) / n
        assert np.abs(below - place).max() < 1.95 / np.sqrt(n)  # once in a thousand
    if responses == 2:
        ranks = scipy.stats.spearmanr(y[:, 0], y[:, 1]).statistic
        assert abs(ranks) < 4.0 / np.sqrt(n)


def test_drawn_tails_and_quantiles_invert_each_other(density_kind, one_expert):
    experts, posterior, block = one_expert(density_kind)
    draws = experts.draws(posterior, 5, np.random.default_rng(1))
    mixture = drawn_of(experts, draws, block.part(0, 1), 0)
    for q in (1e-6, 0.01, 0.3, 0.5, 0.9, 1.0 - 1e-6):
        at = mixture.quantile(q)
        assert_allclose(
            [mixture.below(float(y))[d, 0] for d, y in enumerate(at[:, 0])], q, rtol=1e-6
        )
    assert_allclose(mixture.below(0.7) + mixture.above(0.7), 1.0, rtol=1e-12)
    points = np.linspace(-30.0, 30.0, 6001)
    below = np.array([mixture.below(y) for y in (-30.0, 30.0)])
    mass = np.trapezoid([mixture.density(float(y)) for y in points], points, axis=0)
    assert_allclose(mass, below[1] - below[0], atol=1e-4)


def test_drawn_components_are_weighted(density_kind, rng, one_expert):
    """Two draws of one expert as two components: the mixture is the weighted sum."""
    experts, posterior, block = one_expert(density_kind)
    draws = experts.draws(posterior, 2, rng)
    both = {name: np.swapaxes(values, 0, 1) for name, values in draws.items()}
    weights = np.array([[[0.3], [0.7]]])
    mixture = experts.drawn(both, weights, block, 0, STANDARD)
    each = drawn_of(experts, draws, block, 0)
    for found, parts in (
        (mixture.density(0.4), each.density(0.4)),
        (mixture.below(0.4), each.below(0.4)),
        (mixture.mean(), each.mean()),
    ):
        assert_allclose(found[0], 0.3 * parts[0] + 0.7 * parts[1], rtol=1e-12)


# -- the predictive distribution -----------------------------------------------------------------

FARTHEST = 0.008
"""Largest distance in probability between the predictive distribution and the mean over draws.

Half of it is what 40 000 draws leave open at most (four standard errors of a mean of numbers
between zero and one, which vary little here); the rest is what experts without a predictive
distribution in closed form give away: measured, .002."""


@pytest.mark.parametrize("responses", [1, 2])
@pytest.mark.quick(responses=(2,))
@pytest.mark.quick(density_kind=("gaussian, in noise", "student, in noise"))
def test_the_predictive_distribution_is_the_mean_over_draws(
    density_kind, responses, rng, one_expert
):
    experts, posterior, block = one_expert(density_kind, responses=responses)
    some = block.part(0, 3)
    draws = experts.draws(posterior, 40_000, rng)
    for i in range(responses):
        found = experts.predictive(posterior, np.ones((1, 3)), some, i)
        mixture = drawn_of(experts, draws, some, i)
        for y in np.linspace(-3.0, 3.0, 13):
            expected = mixture.below(float(y)).mean(axis=0)
            assert_allclose(found.cdf(np.full(3, y)), expected, atol=FARTHEST)


def test_the_predictive_distribution_integrates_to_one(density_kind, one_expert):
    experts, posterior, block = one_expert(density_kind)
    some = block.part(0, 4)
    found = experts.predictive(posterior, np.ones((1, 4)), some, 0)
    points = np.linspace(-200.0, 200.0, 4001)
    ends = found.cdf_at(points[[0, -1]])
    mass = np.trapezoid(found.density_at(points), points, axis=0)
    assert_allclose(mass, ends[1] - ends[0], atol=1e-8)
    assert (ends[1] - ends[0] > 0.99).all()


# -- units ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Units:
    """Rows in their own units, and the same rows standardised."""

    x: np.ndarray
    y: np.ndarray
    block: Block
    units: RegressionUnits

    @classmethod
    def random(cls, rng, responses, intercept=True):
        """Two covariates and so many responses, in odd units."""
        x = np.column_stack([5.0 + 0.2 * rng.normal(size=50), 300.0 * rng.normal(size=50)])
        terms = ("a", "b")
        if intercept:
            x, terms = np.column_stack([np.ones(50), x]), ("Intercept", "a", "b")
        y = 40.0 + rng.normal(size=(50, responses)) * np.array([7.0, 0.01])[:responses]
        mean = Scaling.of_moments(ColumnMoments.of(x), terms)
        of_response = Scaling.of_response(AllResponses.from_matrix(y), centred=intercept)
        scales = Scales({"mean": mean}, of_response)
        names = ("u", "v")[:responses]
        return cls(x, y, scales.block({"mean": x}, y), RegressionUnits(terms, names, scales))


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("responses", [1, 2])
def test_parameters_are_in_the_units_of_the_data(
    density_kind, responses, intercept, rng, experts_of
):
    """Lines through the rows as given are those of the drawn distribution, and so is the noise."""
    given = Units.random(rng, responses, intercept)
    experts = experts_of(density_kind, n_responses=responses, n_terms=given.x.shape[1])
    draws = experts.prior_draws(6, 2, rng)
    parameters = {one.name: one for one in experts.parameters(draws, given.units)}
    assert next(iter(parameters)) == "beta"
    axis = [] if responses == 1 else ["response"]
    assert list(parameters["beta"].dims) == ["component", *axis, "term_mean"]
    assert list(parameters["sigma"].dims) == ["component", *axis]
    beta = parameters["beta"].values.reshape(6, 2, responses, -1)
    sigma = parameters["sigma"].values.reshape(6, 2, responses)
    for i in range(responses):
        drawn = experts.drawn(
            draws, np.full((6, 2, 1), 0.5), given.block, i, given.units.scales.response
        )
        line = np.moveaxis(beta[:, :, i] @ given.x.T, 1, 0)
        assert_allclose(line, drawn.location, rtol=1e-9, atol=1e-9 * np.abs(line).max())
        assert_allclose(sigma[:, :, i].T[:, :, None], drawn.scale[:, :, :1], rtol=1e-12)


def test_every_parameter_says_what_it_is(density_kind, rng, experts_of):
    given = Units.random(rng, 2)
    experts = experts_of(density_kind, n_responses=2, n_terms=3)
    draws = experts.prior_draws(5, 3, rng)
    labels = {"component": range(3), "response": given.units.responses}
    for one in experts.parameters(draws, given.units):
        lengths = [len({**labels, **one.coords}[name]) for name in one.dims]
        assert one.values.shape == (5, *lengths)
        assert one.text is not None and one.part
        assert all(vars(one.text)[name] for name in ("symbol", "meaning", "heading", "caption"))
    assert experts.words.endswith(" regression")


@pytest.mark.parametrize("responses", [1, 2])
def test_prior_rows_are_those_of_draws_from_the_prior(density_kind, responses, rng, experts_of):
    """Centre and scale with the law in words, for every number of one component."""
    given = Units.random(rng, responses)
    experts = experts_of(density_kind, n_responses=responses, n_terms=3)
    rows = experts.prior_rows(given.units)
    drawn = experts.prior_draws(40_000, 1, rng)
    parameters = {one.part: one for one in experts.parameters(drawn, given.units)}
    for part, one in parameters.items():
        own = [row for row in rows if row.part == part]
        values = one.values.reshape(40_000, -1)
        assert len(own) == values.shape[1]
        for row, numbers in zip(own, values.T, strict=True):
            check_prior_row(row, numbers)
    assert {row.part for row in rows} == set(parameters)


def check_prior_row(row, numbers):
    """Quantiles of the law that a row of the table names are those of draws."""
    probs = np.array([0.1, 0.25, 0.5, 0.75, 0.9])
    if row.prior == "fixed":
        assert (numbers == row.centre).all() and np.isnan(row.scale)
        return
    law, _, rest = row.prior.rpartition("(")
    arguments = [float(word) for word in rest.rstrip(")").split(",")] if law else []
    if row.prior == "Normal":
        below = scipy.stats.norm(row.centre, row.scale).cdf
    elif law == "Student t":
        below = scipy.stats.t(arguments[0], row.centre, row.scale).cdf
    elif law == "1/sigma^2 ~ Gamma":
        numbers = numbers**-2.0
        assert row.centre == pytest.approx((arguments[1] / arguments[0]) ** 0.5, rel=1e-2)
        below = scipy.stats.gamma(arguments[0], scale=1.0 / arguments[1]).cdf
    else:
        assert law == "Gamma"
        below = scipy.stats.gamma(arguments[0], scale=1.0 / arguments[1]).cdf
        assert (row.centre, row.scale) == pytest.approx((numbers.mean(), numbers.std()), rel=0.03)
    # 4.5 standard errors; rates are printed with three digits
    assert_allclose(below(np.quantile(numbers, probs)), probs, atol=0.0125)


def test_draws_of_the_prior_are_alike_and_independent(density_kind, rng, experts_of):
    experts = experts_of(density_kind, n_responses=2)
    draws = experts.prior_draws(20_000, 2, rng)
    for values in (draws["coefficients"], np.log(draws["precision"])):
        first, second = values[:, 0].reshape(20_000, -1), values[:, 1].reshape(20_000, -1)
        for one, other in zip(first.T, second.T, strict=True):
            if not np.ptp(one):  # known, not drawn
                assert_array_equal(other, one)
                continue
            assert scipy.stats.ks_2samp(one, other).pvalue > 1e-4
            assert abs(scipy.stats.spearmanr(one, other).statistic) < 4.5 / np.sqrt(20_000)


def test_densities_of_prior_draws_average_to_the_volume(density_kind, rng, experts_of):
    """``E_prior[q / prior] = 1``, with q close to the prior."""
    experts = experts_of(density_kind, n_responses=1)
    block = Block({"mean": np.array([[1.0], [0.3]])}, np.array([[0.2]]))
    q = experts.update(
        experts.global_step(None, experts.partition_stats(np.full((1, 1), 0.3), block))
    )
    draws = experts.prior_draws(40_000, 1, rng)
    ratio = np.exp(experts.log_density(q, draws) - experts.log_density(None, draws))
    assert ratio.mean() == pytest.approx(1.0, abs=5.0 * ratio.std() / 200.0)
    assert ratio.std() < 10.0
