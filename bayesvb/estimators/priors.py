"""Priors of the models, on the scale on which they work."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from numbers import Real
from typing import Any, TypeVar

import numpy as np

from bayesvb.argument_checks import RENAMED, with_new_names
from bayesvb.errors import PriorError, warn_renamed

COEFFICIENT_UNITS = ("noise", "response")

SCALES = ("between", "learned", "fixed")

P = TypeVar("P", bound=type)


def with_former_names(prior: P) -> P:
    """Let a prior be made, and read, by former names of its fields, with a DeprecationWarning."""
    changed: Any = prior
    init, names = changed.__init__, [field.name for field in fields(prior)]

    @functools.wraps(init)
    def __init__(self: object, *values: object, **numbers: object) -> None:
        init(self, *values, **with_new_names(prior.__name__, numbers, names))

    def __getattr__(self: object, name: str) -> object:
        if RENAMED.get(name) not in names:
            raise AttributeError(f"{prior.__name__} has no number {name!r}", name=name, obj=self)
        warn_renamed(f"priors.{name}", f"priors.{RENAMED[name]}")
        return getattr(self, RENAMED[name])

    changed.__init__, changed.__getattr__ = __init__, __getattr__
    return prior


@with_former_names
@dataclass(frozen=True)
class Priors:
    r"""Prior of a mixture of linear experts with a covariate-dependent gate.

    All numbers refer to a response and to design columns with mean zero and standard deviation one
    (``family="student"`` uses medians of the response, which outliers do not move);
    ``model.prior_table()`` shows them in the units of the data. Numbers that are None have the
    default of the model, which ``model.priors`` holds. The defaults are weakly
    informative: with 100 rows, the noise of an expert is shrunk by less than 10% if it is 20 times
    smaller than the spread of the response, and a slope of 5 standard deviations per standard
    deviation by less than 1%.

    Attributes
    ----------
    coefficient_sd : float, optional
        Prior standard deviation of an expert's coefficient, in ``coefficient_units``. Families
        without a noise have it in units of the linear predictor. Default: 10; for several
        components of binary, count and positive responses 2.5.
    noise_shape, noise_rate : float
        ``1 / sigma^2 ~ Ga(noise_shape, noise_rate)``, rate in units of the response's variance.
    gating_sd : float
        Prior standard deviation of a slope of the gate's logits.
    gating_intercept_sd : float
        Prior standard deviation of an intercept of the gate's logits. Large values let
        superfluous components empty themselves.
    concentration : float
        Dirichlet concentration of each weight, for ``gate="dirichlet"``.
    coefficient_units : {"noise", "response"}, optional
        Units of ``coefficient_sd``. ``"response"`` makes an expert's coefficients independent of
        its noise: ``beta ~ N(0, coefficient_sd^2)``. ``"noise"``: ``beta | sigma ~ N(0,
        (coefficient_sd * sigma)^2)``. Default: ``"response"`` for one Gaussian component with
        constant noise, whose intervals are then as wide as by least squares; ``"noise"`` for
        several components, several responses, ``group=``, censored responses, ``sigma()``,
        ``scales="learned"``, and data that are not standardised.
    equal_prior_weights : bool
        For ``gate="stick-breaking"``: prior means ``-log(K - k)`` of the intercepts, so that all
        components weigh the same a priori. Without, the means are zero, as in the literature, and
        each component weighs half of the one before.
    standardize : bool
        Whether columns and response are standardised at all. Without, every number above refers
        to the data as they are.
    dof : float or None
        Degrees of freedom of ``family="student"``; None to learn them. Other families have none.
    dispersion : float or None
        Dispersion ``rho`` of ``family="negbinomial"``, whose counts have the variance
        ``mu + mu^2 / rho``; None to learn it, with a log-normal prior: median 5, 95% between 0.1
        and 250. Other families have none.
    scales : {"between", "learned", "fixed"}
        Which coefficients share a prior standard deviation that is estimated from the data.
        ``"between"``: with one component covariates and factors have the fixed prior above, as in
        an ordinary regression. With several components a coefficient is ``b + d_k``: ``b`` is
        common to the components, in units of the response, and has one learned standard deviation
        for all columns, at least ``2 / sqrt(rows)``; the differences ``d_k`` have one learned
        standard deviation per term, so components that do not differ are shrunk towards each
        other and not towards zero. Wiggly parts of smooths and group-level effects learn a
        standard deviation in any case, with several components one for the common part, of
        group-level effects half-t, and one for the differences. ``"learned"``: every term of the
        experts shrinks towards zero, with one learned standard deviation per term; predicts well
        where few of many columns matter, and biases weak effects towards zero. ``"fixed"``: no
        standard deviation is learned. Terms of the gate learn theirs unless ``"fixed"``. Point
        estimates, ``method="em"``, have fixed scales in any case, as the mode of learned ones says
        nothing of their size.
    common_sd : float
        With ``scales="between"`` the learned standard deviation of the common coefficients ``b``
        is half-normal with this scale, in standard deviations of the response per standard
        deviation of a column.
    scale_shape : float
    scale_rate : float, optional
        ``1 / s^2 ~ Ga(scale_shape, scale_rate)`` for the learned standard deviation ``s`` of every
        term of the experts. A shape of one half makes ``1 / s`` half-normal with standard
        deviation ``1 / sqrt(2 scale_rate)``; ``s`` then has the tails of a half-Cauchy
        distribution. Default of the rate: 0.1, with which differences between components and
        smooth curves are nearly unbiased; 0.005 with ``scales="learned"``.
    group_scale_rate : float
        The same rate for group-level terms of the experts. Standard deviations of 0.2 on a
        logarithmic scale are common among groups, and have a probability of 2% if the rate is 0.1.
    gating_scale_rate : float
        The same rate for the terms of the gate. Few contrasts inform the scale of such a term, and
        a smaller rate would shrink log odds of two standard errors by a third.
    sigma_sd : float
        Prior standard deviation of a coefficient of the part ``sigma``: of the log standard
        deviation per standard deviation of a column. One is a factor of 2.7 in the spread.
    sigma_scale_rate : float
        The same rate for smooth terms of the part ``sigma``, whose scales are learned.
    zero_sd : float
        Prior standard deviation of a coefficient of the part ``zero``: of the log odds of a
        zero per standard deviation of a column. Smooth terms learn their scale, with
        ``gating_scale_rate``.

    Raises
    ------
    PriorError
        If a number is not positive and finite.

    Examples
    --------
    >>> Priors(gating_sd=1.0).gating_sd
    1.0
    >>> Priors(noise_rate=0.0)
    Traceback (most recent call last):
    ...
    bayesvb.errors.PriorError: noise_rate=0.0 must be a positive, finite number
    hint: a small number such as 0.01 is nearly flat and still proper
    """

    coefficient_sd: float | None = None
    noise_shape: float = 0.5
    noise_rate: float = 0.01
    gating_sd: float = 1.5
    gating_intercept_sd: float = 5.0
    concentration: float = 1.0
    coefficient_units: str | None = None
    equal_prior_weights: bool = True
    standardize: bool = True
    dof: float | None = None
    dispersion: float | None = None
    scales: str = "between"
    common_sd: float = 1.0
    scale_shape: float = 0.5
    scale_rate: float | None = None
    group_scale_rate: float = 0.02
    gating_scale_rate: float = 0.05
    sigma_sd: float = 1.0
    sigma_scale_rate: float = 0.05
    zero_sd: float = 2.5

    def __post_init__(self) -> None:
        for name, known in (("coefficient_units", COEFFICIENT_UNITS), ("scales", SCALES)):
            value = getattr(self, name)
            if value is not None and str(value) not in known:
                raise PriorError(f"{name}={value!r} must be {' or '.join(map(repr, known))}")
        optional = ("coefficient_sd", "scale_rate", "dof", "dispersion")
        check_numbers(self, optional=optional, besides=("coefficient_units",))

    def completed(self, default: Priors) -> Priors:
        """Return the priors with the model's defaults for numbers that are None."""
        unset = {name for name, value in vars(self).items() if value is None}
        return replace(self, **{name: getattr(default, name) for name in unset})

    def number(self, name: str) -> float:
        """Return a number of completed priors by its name."""
        return float(getattr(self, name))


@dataclass(frozen=True)
class GaussianPriors:
    """Prior of a mixture of Gaussians, for variables with mean zero and standard deviation one.

    Attributes
    ----------
    mean_precision : float
        Precision of a component's mean, in units of that component's precision: how many rows the
        prior guess of zero is worth.
    covariance_rows : float
        Rows that the prior guess of a covariance is worth; degrees of freedom of the Wishart less
        the number of variables plus one.
    covariance_scale : float
        Prior guess of a component's standard deviations.
    concentration : float or None
        Dirichlet concentration of each weight; None for one over the number of components, which
        lets superfluous components empty themselves.
    standardize : bool
        Whether variables are standardised at all.

    Raises
    ------
    PriorError
        If a number is not positive and finite.

    Examples
    --------
    >>> GaussianPriors().concentration is None
    True
    """

    mean_precision: float = 0.05
    covariance_rows: float = 2.0
    covariance_scale: float = 0.3
    concentration: float | None = None
    standardize: bool = True

    def __post_init__(self) -> None:
        check_numbers(self, optional=("concentration",))


@dataclass(frozen=True)
class PcaPriors:
    """Prior of a principal component analysis, for variables that are centred and scaled.

    Attributes
    ----------
    centre_precision : float
        Precision of the centre, in units of the noise precision: how many rows the prior guess of
        zero is worth.
    noise_shape, noise_rate : float
        ``1 / sigma^2 ~ Ga(noise_shape, noise_rate)``, rate in units of the variables' variance.
    relevance_shape, relevance_rate : float
        ``alpha ~ Ga(relevance_shape, relevance_rate)`` of each component, whose loadings are
        ``N(0, sigma^2 / alpha)``. Nearly flat, it lets superfluous components vanish.
    standardize : bool
        Whether variables are centred and scaled at all.
    m0 : mapping of str to float, or sequence of float, one per variable, optional
        Prior mean of the centre, in the units of the data. By default, and for variables that a
        mapping does not name, the mean of the variable. Give a larger ``centre_precision`` with it.
    s0 : float, or sequence of float, one per component, optional
        Scores of the prior guess of the centre, which given the loadings is ``N(W s0 + m0,
        sigma^2 / centre_precision)``. Default: 0. Components then have an identity of their own:
        they are sorted, but not turned.

    Raises
    ------
    PriorError
        If a number is not finite, or, except for ``m0`` and ``s0``, not positive.

    References
    ----------
    Agarwal, Bishop (2003), Improved Variational Approximation for Bayesian PCA, eq. 5.

    Examples
    --------
    >>> PcaPriors().centre_precision
    0.001
    >>> PcaPriors(centre_precision=10.0, m0={"height": 170.0}).m0
    {'height': 170.0}
    """

    centre_precision: float = 0.001
    noise_shape: float = 0.01
    noise_rate: float = 1e-8
    relevance_shape: float = 0.01
    relevance_rate: float = 0.001
    standardize: bool = True
    m0: Mapping[str, float] | Sequence[float] | None = None
    s0: float | Sequence[float] | None = None

    def __post_init__(self) -> None:
        check_numbers(self, besides=("m0", "s0"))
        if isinstance(self.m0, Mapping):
            centre = {str(name): _finite(f"m0[{name!r}]", x) for name, x in self.m0.items()}
            object.__setattr__(self, "m0", centre)
        elif self.m0 is not None:
            object.__setattr__(self, "m0", _finite_sequence("m0", self.m0))
        if self.s0 is not None:
            object.__setattr__(self, "s0", _finite_sequence("s0", self.s0))


@with_former_names
@dataclass(frozen=True)
class NetworkPriors:
    r"""Prior of a conditional mixture network, for columns with mean zero and unit variance.

    The latent vector has no unit: its scale is the one on which these numbers make sense.

    Attributes
    ----------
    coefficient_variance : float
        Prior variance of an expert's coefficient, in units of the variance of that expert's latent
        noise: ``A_ki | tau ~ N(0, coefficient_variance / tau)``. With many columns and few rows
        0.1 to 1 predict better.
    latent_shape, latent_rate : float
        ``tau ~ Ga(latent_shape, latent_rate)``, the precision of latent noise.
    gating_variance : float
        Prior variance of a coefficient of the gate's sticks.
    output_variance : float
        Prior variance of a coefficient of the output layer; for numbers in units of the variance
        of the response's noise.
    noise_shape, noise_rate : float
        For numbers: ``zeta ~ Ga(noise_shape, noise_rate)``, the precision of the response's noise,
        rate in units of the response's variance.
    equal_prior_weights : bool
        Prior means ``-log(K - k)`` of the intercepts of all sticks, so that experts and classes
        weigh the same a priori. Without, the means are zero and each weighs half of the one before.
    standardize : bool
        Whether columns and numeric responses are standardised at all.

    Raises
    ------
    PriorError
        If a number is not positive and finite.

    References
    ----------
    Heins et al. (2024), arXiv:2408.16429, section 4, whose intercepts have prior mean zero.

    Examples
    --------
    >>> NetworkPriors(coefficient_variance=1.0).latent_shape
    2.0
    """

    coefficient_variance: float = 10.0
    latent_shape: float = 2.0
    latent_rate: float = 1.0
    gating_variance: float = 25.0
    output_variance: float = 25.0
    noise_shape: float = 0.5
    noise_rate: float = 0.01
    equal_prior_weights: bool = True
    standardize: bool = True

    def __post_init__(self) -> None:
        check_numbers(self)


@dataclass(frozen=True)
class NormalPriors:
    """Prior of one Gaussian sample, for a response with mean zero and standard deviation one.

    The defaults are worth a fiftieth of a row and less.

    Attributes
    ----------
    mean_precision : float
        Precision of the mean, in units of the precision of the response: how many rows the prior
        guess of zero is worth.
    noise_shape, noise_rate : float
        ``1 / sigma^2 ~ Ga(noise_shape, noise_rate)``, rate in units of the response's variance.
    standardize : bool
        Whether the response is standardised at all.

    Raises
    ------
    PriorError
        If a number is not positive and finite.

    Examples
    --------
    >>> NormalPriors(mean_precision=1.0).noise_shape
    0.01
    """

    mean_precision: float = 0.01
    noise_shape: float = 0.01
    noise_rate: float = 0.01
    standardize: bool = True

    def __post_init__(self) -> None:
        check_numbers(self)


def _finite(name: str, value: object) -> float:
    """The value as a float, which files can hold."""
    if (
        isinstance(value, bool)
        or not isinstance(value, Real)
        or not abs(_as_double(value)) < float("inf")
    ):
        raise PriorError(f"{name}={value!r} must be a finite number")
    return float(value)


def _finite_sequence(name: str, value: object) -> tuple[float, ...] | float:
    """Finite numbers, or a single one."""
    if isinstance(value, Real) or not isinstance(value, Sequence | np.ndarray):
        return _finite(name, value)
    return tuple(_finite(f"{name}[{i}]", one) for i, one in enumerate(value))


def check_numbers(
    priors: Any, *, optional: tuple[str, ...] = (), besides: tuple[str, ...] = ()
) -> None:
    """Raise unless every number is positive and finite, and every switch a truth value.

    Numbers of numpy become floats, which files can hold. Fields ``besides`` are not checked.
    """
    for field in fields(priors):
        if field.name in besides:
            continue
        value = getattr(priors, field.name)
        if isinstance(field.default, str):
            continue
        if isinstance(field.default, bool):
            if not isinstance(value, bool):
                raise PriorError(f"{field.name}={value!r} must be True or False")
        elif value is None and field.name in optional:
            continue
        elif isinstance(value, bool) or not isinstance(value, Real):
            raise PriorError(f"{field.name}={value!r} must be a number")
        elif not 0.0 < _as_double(value) < float("inf"):
            raise PriorError(
                f"{field.name}={value!r} must be a positive, finite number",
                hint="a small number such as 0.01 is nearly flat and still proper",
            )
        elif not isinstance(value, int | float):
            object.__setattr__(priors, field.name, float(value))


def check_priors(priors: object, kind: type) -> None:
    """Raise unless ``priors`` are of this class, or None."""
    if priors is not None and not isinstance(priors, kind):
        raise PriorError(
            f"priors={priors!r} are not {kind.__name__}",
            hint=f"write priors=bayesvb.{kind.__name__}({fields(kind)[0].name}=...)",
        )


def _as_double(value: Real) -> float:
    """The number as a double, infinite beyond the largest one."""
    try:
        return float(value)
    except OverflowError:
        return float("inf")
