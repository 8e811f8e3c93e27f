"""A part of its own: the file of the part, its line in the table, and the experts that read it.

The toy part moves every component's line by terms with a prior of their own: y ~ x | shift(z).
"""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import bayesvb as bvb
from bayesvb.data.parts import MEAN, PARTS, Part
from bayesvb.errors import FormulaError
from bayesvb.evaluation.elpd import read_elpd
from bayesvb.experts import EXPERTS
from bayesvb.experts.linear import LinearExperts
from bayesvb.experts.regression import (
    BETA,
    RegressionPrior,
    coefficients_parameter,
    noise_parameter,
)
from bayesvb.formula.parser import parse_formula
from bayesvb.variational.descriptions import NamedParameter, PriorRow

# -- the file of the part ------------------------------------------------------------------------

SHIFT = "shift"
SHIFT_PART = Part(name=SHIFT, synonyms=("move",), coefficients="delta")

# -- the experts that read it --------------------------------------------------------------------

DELTA = replace(BETA, symbol="δ", meaning="coefficients of the shift", heading="Shift")


def joined(block):
    """The block whose lines have the terms of both parts."""
    designs = {name: x for name, x in block.designs.items() if name != SHIFT}
    if SHIFT in block.designs:
        designs[MEAN] = np.concatenate([block.designs[MEAN], block.designs[SHIFT]])
    return replace(block, designs=designs)


@dataclass(frozen=True)
class ShiftedExperts(LinearExperts):
    """Gaussian regressions on the terms of the mean and of the shift."""

    words = "mixture of shifted lines"
    parts = (MEAN, SHIFT)
    learns_scales = False
    has_common_effects = False

    given: RegressionPrior | None = None

    @classmethod
    def from_prior(cls, prior):
        n_shift = prior.further_terms.get(SHIFT, 0)
        both = LinearExperts.from_prior(replace(prior, n_terms=prior.n_terms + n_shift))
        return cls(both.prior, given=prior)

    @property
    def n_mean(self):
        return self.given.n_terms

    def local(self, posterior, block):
        return super().local(posterior, joined(block))

    def partition_stats(self, responsibilities, block):
        return super().partition_stats(responsibilities, joined(block))

    def predictive(self, posterior, weights, block, response):
        return super().predictive(posterior, weights, joined(block), response)

    def predictive_without(self, posterior, weights, block, left_out):
        return super().predictive_without(posterior, weights, joined(block), left_out)

    def row_scalars(self, block, n_experts):
        return super().row_scalars(joined(block), n_experts)

    def log_lik(self, draws, block):
        return super().log_lik(draws, joined(block))

    def responses(self, draws, chosen, block, rng):
        return super().responses(draws, chosen, joined(block), rng)

    def drawn(self, draws, weights, block, response, scaling):
        return super().drawn(draws, weights, joined(block), response, scaling)

    def of_mean(self, draws):
        return {**draws, "coefficients": draws["coefficients"][..., : self.n_mean]}

    def parameters(self, draws, units):
        lines = coefficients_parameter(self.of_mean(draws), units)
        found = [lines, noise_parameter(draws, units)]
        if SHIFT in units.scales.parts:
            own = draws["coefficients"][:, :, 0, self.n_mean :]
            delta = units.scales.parts[SHIFT].coefficients(own) * units.scales.response.scale[0]
            terms = {"term_shift": units.further_terms[SHIFT]}
            found.insert(1, NamedParameter("delta", delta, ("component", "term_shift"), DELTA,
                                           part=SHIFT, signed=True, coords=terms))  # fmt: skip
        return found

    def prior_rows(self, units):
        lines = LinearExperts.from_prior(self.given).prior_rows(units)
        names = units.further_terms.get(SHIFT, ())
        return [*lines, *(PriorRow(SHIFT, one, "as of lines", 0.0, np.nan) for one in names)]


# -- what it touched: nothing else ---------------------------------------------------------------


@pytest.fixture(scope="module", autouse=True)
def lines_of_the_tables():
    PARTS[SHIFT] = SHIFT_PART
    EXPERTS["shifted"] = ShiftedExperts.from_prior
    yield
    del PARTS[SHIFT], EXPERTS["shifted"]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(1)
    x, z = rng.normal(size=(2, 300))
    y = 1.0 + 2.0 * x - 3.0 * (5.0 + 0.1 * z) + 0.5 * rng.normal(size=300)
    return pd.DataFrame({"x": x, "z": 5.0 + 0.1 * z, "y": y})


def fit_of(data, formula="y ~ x | shift(0 + z)", **options):
    given = {"n_components": 1, "family": "shifted", **options}
    return bvb.DensityRegression(formula, data, **given).fit(seed=1, draws=500)


@pytest.fixture(scope="module")
def fit(lines_of_the_tables, data):
    return fit_of(data)


def test_its_coefficients_are_named_and_in_the_units_of_the_data(fit):
    table = fit.summary()
    assert_allclose(table.loc[("shift", 1, "z"), "mean"], -3.0, atol=0.4)
    assert_allclose(table.loc[("mean", 1, "x"), "mean"], 2.0, atol=0.1)
    assert fit.posterior["delta"].dims == ("chain", "draw", "component", "term_shift")


def test_it_is_printed_under_its_name_and_has_its_rows_of_the_prior(fit):
    assert "y ~ x | shift(0 + z)" in str(fit)
    assert "\nshift (coefficients of the shift)\n" in str(fit)
    assert list(fit.model.prior_table().loc["shift"].index) == ["z"]


def test_predictions_effects_and_saved_fits_read_it(fit, data, tmp_path):
    change = fit.predict(data.assign(z=data["z"] + 1.0)) - fit.predict(data)
    assert_allclose(change, -3.0, atol=0.4)
    found = bvb.effects.slopes(fit, wrt="z", average_by=True).summary["estimate"]
    assert_allclose(found, -3.0, atol=0.4)
    assert bvb.load(fit.save(tmp_path / "fit.nc")).elbo == fit.elbo
    assert np.isfinite(read_elpd(fit.loo()).elpd)


def test_rows_in_a_file_give_the_same_fit(fit, data, tmp_path):
    data.to_parquet(tmp_path / "rows.parquet")
    again = fit_of(str(tmp_path / "rows.parquet"))
    assert_allclose(again.elbo, fit.elbo, rtol=1e-9)


def test_a_formula_without_it_is_that_of_other_families(data):
    plain = {"priors": bvb.Priors(scales="fixed", coefficient_units="noise")}
    ours, theirs = fit_of(data, "y ~ x", **plain), fit_of(data, "y ~ x", family="gaussian", **plain)
    assert_allclose(ours.elbo, theirs.elbo, rtol=1e-12)


def test_a_family_that_does_not_read_it_says_so(data):
    with pytest.raises(FormulaError, match=r"family='gaussian' has no part shift"):
        bvb.DensityRegression("y ~ x | shift(z)", data, n_components=1)


def test_near_words_and_a_missing_name_are_told():
    parts = tuple(PARTS)
    with pytest.raises(FormulaError, match=r"did you mean shift\(...\)"):
        bvb.DensityRegression("y ~ x | move(z)", {"y": [0.0, 1.0], "x": [1.0, 2.0]})
    with pytest.raises(FormulaError, match="part 3 needs a name"):
        parse_formula("y ~ x | x | z", parts=parts)
