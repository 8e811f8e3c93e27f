"""Experts: the likelihood of a row in a component, one family per file.

May import: errors, linear, numerics, data, factors, variational, distributions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bayesvb.data.parts import SIGMA, ZERO
from bayesvb.data.response_columns import INTERVAL
from bayesvb.errors import PriorError
from bayesvb.experts.bernoulli import BernoulliExperts
from bayesvb.experts.binomial import BinomialExperts
from bayesvb.experts.gamma import GammaExperts
from bayesvb.experts.gaussian_diagonal import DiagonalGaussianExperts
from bayesvb.experts.gaussian_full import FullGaussianExperts
from bayesvb.experts.hurdle import HurdleExperts
from bayesvb.experts.linear import LinearExperts
from bayesvb.experts.linear_interval import IntervalLinearExperts
from bayesvb.experts.linear_semiconjugate import SemiConjugateExperts
from bayesvb.experts.linear_student import StudentExperts
from bayesvb.experts.negbinomial import NegativeBinomialExperts
from bayesvb.experts.ordinal import OrdinalExperts, OrdinalProbitExperts
from bayesvb.experts.poisson import PoissonExperts
from bayesvb.experts.regression import AnyExperts, RegressionPrior
from bayesvb.experts.sequential import SequentialExperts
from bayesvb.experts.spread import with_spread
from bayesvb.experts.student_interval import IntervalStudentExperts
from bayesvb.experts.weibull import WeibullExperts
from bayesvb.experts.zero_inflated import with_zeros

GAUSSIAN_EXPERTS: dict[str, Any] = {
    "full": FullGaussianExperts,
    "diagonal": DiagonalGaussianExperts,
}
"""Gaussian experts by the form of their covariance matrices."""


def gaussian(prior: RegressionPrior) -> AnyExperts:
    """Gaussian linear experts, their coefficients in units of the noise or of the response.

    Raises
    ------
    PriorError
        If degrees of freedom are given, which a Gaussian does not have, or the units are not
        available.
    """
    if prior.dof is not None:
        raise PriorError(
            f"dof={prior.dof:g}, and family='gaussian' has no degrees of freedom",
            hint="omit dof, or choose family='student'",
        )
    if INTERVAL in prior.response_columns:
        _check_interval(prior)
        return IntervalLinearExperts.from_prior(prior)
    kind = LinearExperts if prior.in_noise else SemiConjugateExperts
    return with_spread(kind.from_prior(prior), prior)


def student(prior: RegressionPrior) -> AnyExperts:
    """Linear experts with Student t noise."""
    if INTERVAL in prior.response_columns:
        _check_interval(prior)
        return IntervalStudentExperts.from_prior(prior)
    return with_spread(StudentExperts.from_prior(prior), prior)


def _check_interval(prior: RegressionPrior) -> None:
    """Raise for what experts of responses in intervals do not have.

    Raises
    ------
    PriorError
    """
    if prior.further_terms.get(SIGMA):
        raise PriorError(
            "sigma(...) is not available where the response is censored or rounded",
            hint="omit it, or let components differ: gating(x) with n_components=2",
        )
    if not prior.in_noise:
        raise PriorError(
            "coefficient_units='response' is not available where the response is censored or "
            "rounded",
            hint="omit it: coefficients are then in units of the noise",
        )


def poisson(prior: RegressionPrior) -> AnyExperts:
    """Poisson experts, with structural zeros if the formula has them."""
    return with_zeros(PoissonExperts.from_prior(prior), prior)


def negbinomial(prior: RegressionPrior) -> AnyExperts:
    """Negative binomial experts, with structural zeros if the formula has them."""
    return with_zeros(NegativeBinomialExperts.from_prior(prior), prior)


def gamma(prior: RegressionPrior) -> AnyExperts:
    """Gamma experts, with a probability of 0 if the formula has one."""
    return with_zeros(GammaExperts.from_prior(prior), prior, HurdleExperts)


def weibull(prior: RegressionPrior) -> AnyExperts:
    """Weibull experts, with a probability of 0 if the formula has one.

    Raises
    ------
    PriorError
        If some times are censored and others are 0.
    """
    if prior.further_terms.get(ZERO) and INTERVAL in prior.response_columns:
        raise PriorError(
            "zero(...) is not available where the response is censored",
            hint="omit it, or fit the rows above 0 alone and I(y > 0) by family='bernoulli'",
        )
    return with_zeros(WeibullExperts.from_prior(prior), prior, HurdleExperts)


EXPERTS: dict[str, Callable[[RegressionPrior], AnyExperts]] = {
    "gaussian": gaussian,
    "student": student,
    "bernoulli": BernoulliExperts.from_prior,
    "binomial": BinomialExperts.from_prior,
    "poisson": poisson,
    "negbinomial": negbinomial,
    "gamma": gamma,
    "weibull": weibull,
    "ordinal": OrdinalExperts.from_prior,
    "ordinal-probit": OrdinalProbitExperts.from_prior,
    "sequential": SequentialExperts.from_prior,
}
"""Experts of a regression by the name of their family."""
