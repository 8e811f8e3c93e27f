"""Priors of a density regression where none are given."""

from __future__ import annotations

from bayesvb.data.parts import GATING, MEAN
from bayesvb.estimators.priors import Priors
from bayesvb.experts import EXPERTS
from bayesvb.experts.regression import RegressionPrior
from bayesvb.formula.parser import RESPONSE, Formula


def complete_priors(
    given: Priors | None, family: str, n_components: int, formula: Formula, group: object
) -> Priors:
    """Priors with the default of every number that is not given."""
    given = given or Priors()
    return given.completed(default_priors(family, n_components, formula, group, given))


def default_priors(
    family: str,
    n_components: int,
    formula: Formula | None = None,
    group: object = None,
    given: Priors | None = None,
) -> Priors:
    """Priors with the default of every number; see ``several_sd`` of the experts.

    Coefficients of one plain regression are in units of the response: see
    ``IndependentLinearExperts``. Data that are not standardised have no such unit.
    """
    given = given or Priors()
    alone = n_components == 1 and given.scales != "learned" and given.standardize
    units = "response" if alone and _is_plain(family, formula, group) else "noise"
    several_sd = EXPERTS[family](RegressionPrior(1, 1, 1.0, True, 1.0, 1.0)).several_sd
    sd = 10.0 if n_components == 1 or several_sd is None else several_sd
    # With the rate 0.005 differences of two or three standard errors between two Gaussian
    # components were shrunk by 0.7 of one (100 rows), with 0.1 they are by 0.1, for 0.007 nats per
    # new row where four columns have at most one effect (bench_component_differences.py). Two
    # Poisson slopes were shrunk to a third, and the smaller is by 10% (bench_shared_scales.py), and
    # smooth curves of one Poisson component by 1.0 instead of 0.4 (bench_scale_rates.py).
    rate = 0.005 if given.scales == "learned" else 0.1
    return Priors(coefficient_sd=sd, scale_rate=rate, coefficient_units=units)


def _is_plain(family: str, formula: Formula | None, group: object) -> bool:
    """Whether components are Gaussian regressions of one response with constant noise."""
    if family != "gaussian" or formula is None or group is not None:
        return False
    parts = {name for name, text in formula.parts.items() if text != "1"} - {MEAN, GATING}
    response = formula.read[RESPONSE]
    several = any(token.text == "+" for token in response.section.tokens)
    return response.call is None and not (parts or several)
