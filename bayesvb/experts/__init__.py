"""Experts: the likelihood of a row in a component, one family per file.

May import: errors, linear, numerics, data, factors, variational, distributions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bayesvb.data.parts import SIGMA, ZERO
from bayesvb.data.response_columns import INTERVAL
from bayesvb.errors import PriorError
from bayesvb.experts.linear import LinearExperts
from bayesvb.experts.regression import AnyExperts, RegressionPrior
from bayesvb.experts.spread import with_spread

# Each function imports the experts of its family, so that a fit does not wait for the others.


def full_gaussians(*prior: Any) -> object:
    """Gaussian experts with full covariance matrices."""
    from bayesvb.experts.gaussian_full import FullGaussianExperts

    return FullGaussianExperts.from_prior(*prior)


def diagonal_gaussians(*prior: Any) -> object:
    """Gaussian experts with diagonal covariance matrices."""
    from bayesvb.experts.gaussian_diagonal import DiagonalGaussianExperts

    return DiagonalGaussianExperts.from_prior(*prior)


GAUSSIAN_EXPERTS: dict[str, Callable[..., Any]] = {
    "full": full_gaussians,
    "diagonal": diagonal_gaussians,
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
        from bayesvb.experts.linear_interval import IntervalLinearExperts

        _check_interval(prior)
        return IntervalLinearExperts.from_prior(prior)
    if prior.in_noise:
        return with_spread(LinearExperts.from_prior(prior), prior)
    if prior.is_alone and prior.n_responses == 1:
        from bayesvb.experts.linear_independent import IndependentLinearExperts

        return with_spread(IndependentLinearExperts.from_prior(prior), prior)
    from bayesvb.experts.linear_semiconjugate import SemiConjugateExperts

    return with_spread(SemiConjugateExperts.from_prior(prior), prior)


def student(prior: RegressionPrior) -> AnyExperts:
    """Linear experts with Student t noise."""
    from bayesvb.experts.linear_student import StudentExperts
    from bayesvb.experts.student_interval import IntervalStudentExperts

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
    if prior.further_terms.get(SIGMA) or prior.has_known_spread:
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
    from bayesvb.experts.poisson import PoissonExperts
    from bayesvb.experts.zero_inflated import with_zeros

    return with_zeros(PoissonExperts.from_prior(prior), prior)


def negbinomial(prior: RegressionPrior) -> AnyExperts:
    """Negative binomial experts, with structural zeros if the formula has them."""
    from bayesvb.experts.negbinomial import NegativeBinomialExperts
    from bayesvb.experts.zero_inflated import with_zeros

    return with_zeros(NegativeBinomialExperts.from_prior(prior), prior)


def gamma(prior: RegressionPrior) -> AnyExperts:
    """Gamma experts, with a probability of 0 if the formula has one."""
    from bayesvb.experts.gamma import GammaExperts
    from bayesvb.experts.hurdle import HurdleExperts
    from bayesvb.experts.zero_inflated import with_zeros

    return with_zeros(GammaExperts.from_prior(prior), prior, HurdleExperts)


def weibull(prior: RegressionPrior) -> AnyExperts:
    """Weibull experts, with a probability of 0 if the formula has one.

    Raises
    ------
    PriorError
        If some times are censored and others are 0.
    """
    from bayesvb.experts.hurdle import HurdleExperts
    from bayesvb.experts.weibull import WeibullExperts
    from bayesvb.experts.zero_inflated import with_zeros

    if prior.further_terms.get(ZERO) and INTERVAL in prior.response_columns:
        raise PriorError(
            "zero(...) is not available where the response is censored",
            hint="omit it, or fit the rows above 0 alone and I(y > 0) by family='bernoulli'",
        )
    return with_zeros(WeibullExperts.from_prior(prior), prior, HurdleExperts)


def bernoulli(prior: RegressionPrior) -> AnyExperts:
    """Bernoulli experts."""
    from bayesvb.experts.bernoulli import BernoulliExperts

    return BernoulliExperts.from_prior(prior)


def binomial(prior: RegressionPrior) -> AnyExperts:
    """Binomial experts."""
    from bayesvb.experts.binomial import BinomialExperts

    return BinomialExperts.from_prior(prior)


def ordinal(prior: RegressionPrior) -> AnyExperts:
    """Cumulative logit experts."""
    from bayesvb.experts.ordinal import OrdinalExperts

    return OrdinalExperts.from_prior(prior)


def ordinal_probit(prior: RegressionPrior) -> AnyExperts:
    """Cumulative probit experts."""
    from bayesvb.experts.ordinal import OrdinalProbitExperts

    return OrdinalProbitExperts.from_prior(prior)


def sequential(prior: RegressionPrior) -> AnyExperts:
    """Sequential logit experts."""
    from bayesvb.experts.sequential import SequentialExperts

    return SequentialExperts.from_prior(prior)


EXPERTS: dict[str, Callable[[RegressionPrior], AnyExperts]] = {
    "gaussian": gaussian,
    "student": student,
    "bernoulli": bernoulli,
    "binomial": binomial,
    "poisson": poisson,
    "negbinomial": negbinomial,
    "gamma": gamma,
    "weibull": weibull,
    "ordinal": ordinal,
    "ordinal-probit": ordinal_probit,
    "sequential": sequential,
}
"""Experts of a regression by the name of their family."""
