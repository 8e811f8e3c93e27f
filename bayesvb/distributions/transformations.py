"""Monotone transformations of a response, their slopes, and moments of the results."""

from __future__ import annotations

import abc
import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool
from scipy.special import expit, log_expit, logit

from bayesvb.distributions.location_scale import AbstractLocationScaleMixture
from bayesvb.errors import DataError
from bayesvb.numerics.arrays import Floats
from bayesvb.numerics.special import log_total

STEP, FARTHEST_NODE = 0.08, 3.2
"""Spacing and end of quadrature nodes in the double-exponential variable."""

Moments = tuple[Floats, Floats]
"""Means and standard deviations."""


class AbstractTransformation(abc.ABC):
    r"""An increasing function ``z = g(y)`` of a response ``y``, smooth, with a known inverse.

    Densities change by the Jacobian, :math:`p(z) = p(y) / g'(y)`; quantiles are transformed, and
    moments are integrals.
    """

    @abc.abstractmethod
    def apply(self, y: Floats) -> Floats:
        """``g(y)``; infinite where it is too large for a double."""

    @abc.abstractmethod
    def undo(self, z: Floats) -> Floats:
        """``y`` with ``g(y) = z``; infinite beyond the range of ``g``."""

    @abc.abstractmethod
    def inside(self, z: Floats) -> Bool[np.ndarray, "..."]:
        """Whether values are in the range of ``g``; True for missing values."""

    @abc.abstractmethod
    def log_slope(self, y: Floats) -> Floats:
        """``log g'(y)``."""

    @abc.abstractmethod
    def moments(self, mixture: AbstractLocationScaleMixture) -> Moments:
        """Mean and standard deviation of ``g(y)`` under each mixture.

        Raises
        ------
        DataError
            If they are infinite.
        """


@dataclass(frozen=True)
class Exponential(AbstractTransformation):
    r"""``factor exp(rate y) + shift``: the inverse of logarithms of linear functions.

    The factor and the rate are positive; of ``log(1 + z)`` the shift is -1.

    Moments of mixtures of normals, which become mixtures of log-normals, are exact:

    .. math:: m_k = e^{c \mu_k + c^2 \sigma_k^2 / 2}, \quad
              \mathrm{Var} = \sum_k w_k \big[ m_k^2 (e^{c^2 \sigma_k^2} - 1)
                             + (m_k - \bar m)^2 \big].

    References
    ----------
    Johnson, Kotz, Balakrishnan (1994), Continuous Univariate Distributions 1, ch. 14.

    Examples
    --------
    >>> from bayesvb.distributions.normal_mixture import NormalMixture
    >>> one = np.ones((1, 1))
    >>> mean, sd = Exponential().moments(NormalMixture(one, 0.0 * one, one))
    >>> mean.round(3), sd.round(3)
    (array([1.649]), array([2.161]))
    """

    rate: float = 1.0
    shift: float = 0.0
    factor: float = 1.0

    def apply(self, y: Floats) -> Floats:
        """``factor exp(rate y) + shift``."""
        with np.errstate(over="ignore"):
            if not self.shift:
                return np.asarray(self.factor * np.exp(self.rate * y))
            # Where z is small, as of log(1 + z), exp(y) - 1 would lose its digits.
            more = self.shift + self.factor
            return np.asarray(self.factor * np.expm1(self.rate * y) + more)

    def undo(self, z: Floats) -> Floats:
        """The logarithm; minus infinity for values that have none."""
        z = np.where(z < self.shift, self.shift, z)
        with np.errstate(divide="ignore"):
            if not self.shift:
                return np.asarray(np.log(z / self.factor) / self.rate)
            more = self.shift + self.factor
            return np.asarray(np.log1p((z - more) / self.factor) / self.rate)

    def inside(self, z: Floats) -> Bool[np.ndarray, "..."]:
        """Whether a value has a logarithm."""
        return np.asarray(~(np.asarray(z) <= self.shift))

    def log_slope(self, y: Floats) -> Floats:
        """``log(factor rate) + rate y``."""
        return np.asarray(np.log(self.factor * self.rate) + self.rate * y)

    def moments(self, mixture: AbstractLocationScaleMixture) -> Moments:
        """Moments of a mixture of log-normals; with tails of a Student t they do not exist."""
        log_mgf = [mixture.standard_log_mgf(order * self.rate * mixture.scale) for order in (1, 2)]
        if not np.isfinite(log_mgf[1]).all():
            raise DataError(
                "the mean of exp(y) is infinite where y has the tails of a Student t",
                hint="predict the median, which is finite: kind='quantile', q=0.5",
            )
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            log_each = self.rate * mixture.location + log_mgf[0]
            log_weights = np.log(mixture.weights)
            log_mean = log_total(log_weights + log_each, axis=0)
            spread = np.expm1(log_mgf[1] - 2.0 * log_mgf[0])
            around = np.expm1(log_each - log_mean) ** 2
            within = np.exp(2.0 * (log_each - log_mean)) * spread
            parts = np.where(mixture.weights > 0.0, mixture.weights * (within + around), 0.0)
            mean = self.factor * np.exp(log_mean)
            return np.asarray(mean + self.shift), np.asarray(mean * np.sqrt(parts.sum(axis=0)))


@dataclass(frozen=True)
class Logistic(AbstractTransformation):
    """``1 / (1 + exp(-y))``: what undoes log odds.

    Moments by the double-exponential rule, to 1e-8 while the scale of ``y`` is at most five.

    References
    ----------
    Takahasi, Mori (1974), Double exponential formulas for numerical integration,
    doi:10.2977/prims/1195192451.
    """

    def apply(self, y: Floats) -> Floats:
        """The probability with these log odds."""
        return np.asarray(expit(y))

    def undo(self, z: Floats) -> Floats:
        """Log odds; infinite for zero, one and values beyond them."""
        return np.asarray(logit(np.clip(z, 0.0, 1.0)))

    def inside(self, z: Floats) -> Bool[np.ndarray, "..."]:
        """Whether a value is between zero and one."""
        given = np.asarray(z)
        return np.asarray(~((given <= 0.0) | (given >= 1.0)))

    def log_slope(self, y: Floats) -> Floats:
        """``log p + log(1 - p)``."""
        return np.asarray(log_expit(y) + log_expit(-y))

    def moments(self, mixture: AbstractLocationScaleMixture) -> Moments:
        """Both integrals by quadrature."""
        v = np.arange(-FARTHEST_NODE, FARTHEST_NODE + STEP / 2, STEP)
        nodes = np.sinh(0.5 * np.pi * np.sinh(v))
        lengths = STEP * 0.5 * np.pi * np.cosh(v) * np.cosh(0.5 * np.pi * np.sinh(v))
        first, second = 0.0, 0.0
        for node, length in zip(nodes.tolist(), lengths.tolist(), strict=True):
            at = np.full_like(mixture.location, node)
            mass = mixture.weights * length * mixture.standard_density(at)
            value = expit(mixture.location + node * mixture.scale)
            first = first + (mass * value).sum(axis=0)
            second = second + (mass * value * value).sum(axis=0)
        mean = np.asarray(first)
        return mean, np.asarray(np.sqrt(np.maximum(second - mean * mean, 0.0)))


TRANSFORMATIONS: Mapping[str, AbstractTransformation] = {
    "exp": Exponential(),
    "expm1": Exponential(shift=-1.0),
    "exp2": Exponential(rate=float(np.log(2.0))),
    "exp10": Exponential(rate=float(np.log(10.0))),
    "expit": Logistic(),
}
"""Transformations of a response, by the name of the function."""

UNDOES: Mapping[str, str] = {"log": "exp", "log1p": "expm1", "log2": "exp2", "log10": "exp10"}
"""Function that a formula may write on the left, and what undoes it."""

CALL = re.compile(r"(?:np\.)?(\w+)\((.*)\)")

ODDS = re.compile(r"(?P<share>.+?) */ *\(1(?:\.0*)? *- *(?P=share)\)")
"""Odds of a share: the logarithm of these is undone by ``expit``."""


def written_function(response: str) -> tuple[str | None, str]:
    """Name of what undoes the function around a response, as formulas write it, and its argument.

    Examples
    --------
    >>> written_function("np.log(wage)"), written_function("wage")
    (('exp', 'wage'), (None, 'wage'))
    >>> written_function("log(share / (1 - share))")
    ('expit', 'share')
    """
    match = CALL.fullmatch(response)
    if match is None or match[1] not in UNDOES or not _balanced(match[2]):
        return None, response
    odds = ODDS.fullmatch(match[2])
    if match[1] == "log" and odds is not None and _balanced(odds["share"]):
        return "expit", odds["share"].strip("`")
    return UNDOES[match[1]], match[2].strip("`")


def inverse_of(response: str) -> tuple[AbstractTransformation | None, str]:
    """Transformation that undoes a whole response of a formula, and the name of its result.

    A linear function of one column inside the logarithm is undone as well; of other expressions
    inside, as ``a / b``, the expression itself is returned.

    Examples
    --------
    >>> inverse_of("log(wage + 1)")
    (Exponential(rate=1.0, shift=-1.0, factor=1.0), 'wage')
    >>> inverse_of("log10(a / b)")[1], inverse_of("sqrt(a)")[0]
    ('a / b', None)
    """
    name, inside = written_function(response)
    if name is None:
        return None, response
    inverse = TRANSFORMATIONS[name]
    line = _line(inside)
    if not isinstance(inverse, Exponential) or line is None or line[0] <= 0.0:
        return inverse, inside
    slope, intercept, column = line
    # exp(rate y) + shift = slope z + intercept
    shift = (inverse.shift - intercept) / slope
    return Exponential(rate=inverse.rate, shift=shift, factor=1.0 / slope), column


def _line(text: str) -> tuple[float, float, str] | None:
    """Slope, intercept and column of a linear function of one column; None of anything else."""
    quoted = re.findall("`([^`]+)`", text)
    try:
        tree = ast.parse(re.sub("`[^`]+`", "_quoted_", text), mode="eval").body
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        slope, intercept = _linear(tree)
    except (SyntaxError, ValueError, ZeroDivisionError):
        return None
    if len(names) != 1 or len(set(quoted)) > 1:
        return None
    return slope, intercept, quoted[0] if quoted else names.pop()


def _linear(node: ast.expr) -> tuple[float, float]:
    """Slope and intercept of an expression in one name."""
    match node:
        case ast.Name():
            return 1.0, 0.0
        case ast.Constant(value=int() | float() as value):
            return 0.0, float(value)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            slope, intercept = _linear(operand)
            return -slope, -intercept
        case ast.BinOp(left=left, op=op, right=right):
            (a, b), (c, d) = _linear(left), _linear(right)
            match op:
                case ast.Add():
                    return a + c, b + d
                case ast.Sub():
                    return a - c, b - d
                case ast.Mult() if a == 0.0 or c == 0.0:
                    return a * d + b * c, b * d
                case ast.Div() if c == 0.0:
                    return a / d, b / d
    raise ValueError(ast.dump(node))


def _balanced(text: str) -> bool:
    """Whether every parenthesis is closed inside."""
    depth = 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if depth < 0:
            return False
    return depth == 0
