"""Predictive distribution of several variables at once: mixtures of Student t vectors."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float
from scipy.special import poch

from bayesvb.distributions.student_mixture import StudentMixture
from bayesvb.numerics.arrays import DimRows, ExpertRows, ExpertVector, RowIntegers, RowVector
from bayesvb.numerics.special import log_sum_exp

NORMAL_DOF = 1e8
"""Degrees of freedom at which a Student t is normal to eight digits."""


class AbstractJointStudent(abc.ABC):
    """Mixture of distributions of a vector, the same mixture for every row.

    Points are given with rows on the last axis, shape (dims, rows).
    """

    weights: ExpertVector
    location: Float[np.ndarray, "experts dims"]
    dof: ExpertVector

    @abc.abstractmethod
    def component_log_density(self, x: DimRows) -> ExpertRows:
        """Log density of each row under each component."""

    @abc.abstractmethod
    def subset(self, variables: Sequence[int]) -> AbstractJointStudent:
        """Marginal distribution of some variables, in this order."""

    @abc.abstractmethod
    def marginal(self, variable: int) -> StudentMixture:
        """Distribution of one variable, as a mixture of one row."""

    @abc.abstractmethod
    def conditional(self, variable: int, x: DimRows) -> StudentMixture:
        """Distribution of one variable given the others, for every row of ``x``.

        The value of the variable itself is not read. Its distribution function at that value is
        the probability integral transform of the row.
        """

    @abc.abstractmethod
    def affine(
        self, shift: Float[np.ndarray, " dims"], factor: Float[np.ndarray, " dims"]
    ) -> AbstractJointStudent:
        """Distribution of ``shift + factor * x``: a change of units; no factor is zero."""

    @abc.abstractmethod
    def draws_of(self, expert: RowIntegers, rng: np.random.Generator) -> DimRows:
        """One draw from each of these components."""

    def draws(self, n: int, rng: np.random.Generator) -> DimRows:
        """Independent draws, one per row."""
        return self.draws_of(rng.choice(len(self.weights), n, p=self.weights), rng)

    def log_density(self, x: DimRows) -> RowVector:
        """Log density of each row."""
        return log_sum_exp(self._log_joint(x))[0]

    def responsibilities(self, x: DimRows) -> ExpertRows:
        """Predictive probability of each component given the row."""
        return log_sum_exp(self._log_joint(x))[1]

    def _log_joint(self, x: DimRows) -> ExpertRows:
        """Log of weight times density."""
        with np.errstate(divide="ignore"):
            log_weights = np.log(self.weights)
        return np.asarray(log_weights[:, None] + self.component_log_density(x))


@dataclass(frozen=True)
class JointStudent(AbstractJointStudent):
    r"""Mixture of multivariate Student t distributions.

    .. math:: p(x) = \sum_k w_k\, \mathrm{St}(x \mid \mu_k, \Sigma_k, \nu_k)

    Attributes
    ----------
    weights : ndarray, shape (experts,)
    location : ndarray, shape (experts, dims)
    scale : ndarray, shape (experts, dims, dims)
        Squared scales; ``dof / (dof - 2)`` times this is the covariance.
    dof : ndarray, shape (experts,)

    References
    ----------
    Bishop (2006), Pattern Recognition and Machine Learning, eqs 10.81 and 10.82. Ding (2016), On
    the conditional distribution of the multivariate t distribution,
    doi:10.1080/00031305.2016.1164756.

    Examples
    --------
    >>> one, eye = np.ones(1), np.eye(2)[None]
    >>> joint = JointStudent(one, np.zeros((1, 2)), eye, 3.0 * one)
    >>> x = np.array([[0.0], [2.0]])
    >>> given = joint.conditional(0, x)
    >>> given.dof, given.scale.round(6)
    (array([4.]), array([[1.322876]]))
    >>> first = joint.marginal(1).log_density(x[1]) + given.log_density(x[0])
    >>> np.allclose(first, joint.log_density(x))
    True
    """

    weights: ExpertVector
    location: Float[np.ndarray, "experts dims"]
    scale: Float[np.ndarray, "experts dims dims"]
    dof: ExpertVector

    def component_log_density(self, x: DimRows) -> ExpertRows:
        return _log_density(np.linalg.cholesky(self.scale), x, self.location, self.dof)[0]

    def subset(self, variables: Sequence[int]) -> JointStudent:
        index = np.asarray(variables, dtype=np.intp)
        scale = self.scale[:, index][:, :, index]
        return replace(self, location=self.location[:, index], scale=scale)

    def marginal(self, variable: int) -> StudentMixture:
        location, variance = self.location[:, variable], self.scale[:, variable, variable]
        return StudentMixture(
            self.weights[:, None], location[:, None], np.sqrt(variance)[:, None], self.dof
        )

    def conditional(self, variable: int, x: DimRows) -> StudentMixture:
        """Distribution of one variable given the others, for every row of ``x``.

        With the variable put last, the last row of the Cholesky factor holds its regression on
        the whitened others.
        """
        others = [i for i in range(len(x)) if i != variable]
        ordered = self.subset([*others, variable])
        root = np.linalg.cholesky(ordered.scale)
        terms, white = _log_density(
            root[:, :-1, :-1], x[others], ordered.location[:, :-1], self.dof
        )
        with np.errstate(divide="ignore"):
            terms += np.log(self.weights)[:, None]
        location = (root[:, -1:, :-1] @ white)[:, 0] + ordered.location[:, -1:]
        dof = self.dof + len(others)
        distance = (white * white).sum(axis=1)
        scale = root[:, -1, -1:] * np.sqrt((self.dof[:, None] + distance) / dof[:, None])
        return StudentMixture(log_sum_exp(terms)[1], location, scale, dof)

    def affine(
        self, shift: Float[np.ndarray, " dims"], factor: Float[np.ndarray, " dims"]
    ) -> JointStudent:
        scale = self.scale * np.outer(factor, factor)
        return replace(self, location=shift + factor * self.location, scale=scale)

    def draws_of(self, expert: RowIntegers, rng: np.random.Generator) -> DimRows:
        x = rng.standard_normal((self.location.shape[1], len(expert)))
        x /= np.sqrt(rng.chisquare(self.dof[expert]) / self.dof[expert])
        for k, root in enumerate(np.linalg.cholesky(self.scale)):
            mine = expert == k
            x[:, mine] = root @ x[:, mine] + self.location[k][:, None]
        return x


@dataclass(frozen=True)
class IndependentStudents(AbstractJointStudent):
    r"""Mixture of vectors whose variables are independent Student t within a component.

    .. math:: p(x) = \sum_k w_k \prod_i \mathrm{St}(x_i \mid \mu_{ki}, \sigma_{ki}, \nu_k)

    Attributes
    ----------
    weights : ndarray, shape (experts,)
    location, scale : ndarray, shape (experts, dims)
        The scale is not squared, as in ``StudentMixture``.
    dof : ndarray, shape (experts,)
    """

    weights: ExpertVector
    location: Float[np.ndarray, "experts dims"]
    scale: Float[np.ndarray, "experts dims"]
    dof: ExpertVector

    def component_log_density(self, x: DimRows) -> ExpertRows:
        return sum(
            (self._log_density(i, row) for i, row in enumerate(x)),
            start=np.zeros((len(self.weights), x.shape[1])),
        )

    def _log_density(self, i: int, x: RowVector) -> ExpertRows:
        """Log density of one variable under each component."""
        root = self.scale[:, i, None, None]
        return _log_density(root, x[None], self.location[:, i, None], self.dof)[0]

    def subset(self, variables: Sequence[int]) -> IndependentStudents:
        index = np.asarray(variables, dtype=np.intp)
        return replace(self, location=self.location[:, index], scale=self.scale[:, index])

    def marginal(self, variable: int) -> StudentMixture:
        location, scale = self.location[:, variable], self.scale[:, variable]
        return StudentMixture(self.weights[:, None], location[:, None], scale[:, None], self.dof)

    def conditional(self, variable: int, x: DimRows) -> StudentMixture:
        """Distribution of one variable given the others, which inform the component only."""
        others = self.subset([i for i in range(len(x)) if i != variable])
        terms = others._log_joint(np.delete(x, variable, axis=0))
        one = self.marginal(variable)
        n_rows = x.shape[1]
        location, scale = (np.repeat(v, n_rows, axis=1) for v in (one.location, one.scale))
        return StudentMixture(log_sum_exp(terms)[1], location, scale, self.dof)

    def affine(
        self, shift: Float[np.ndarray, " dims"], factor: Float[np.ndarray, " dims"]
    ) -> IndependentStudents:
        location, scale = shift + factor * self.location, np.abs(factor) * self.scale
        return replace(self, location=location, scale=scale)

    def draws_of(self, expert: RowIntegers, rng: np.random.Generator) -> DimRows:
        student = rng.standard_t(self.dof[expert], size=(self.location.shape[1], len(expert)))
        return np.asarray(self.location[expert].T + self.scale[expert].T * student)


def _log_density(
    root: Float[np.ndarray, "experts dims dims"],
    x: DimRows,
    location: Float[np.ndarray, "experts dims"],
    dof: ExpertVector,
) -> tuple[ExpertRows, Float[np.ndarray, "experts dims rows"]]:
    """Log densities of multivariate Student t, and the whitened rows."""
    n_dims = len(x)
    white = np.linalg.inv(root) @ (x - location[:, :, None])
    distance = (white * white).sum(axis=1)
    log_det = np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)
    constant = _log_rising(0.5 * dof, n_dims) - 0.5 * n_dims * np.log(np.pi * dof) - log_det
    kernel = 0.5 * (dof + n_dims)[:, None] * np.log1p(distance / dof[:, None])
    return constant[:, None] - kernel, white


def _log_rising(a: ExpertVector, n_halves: int) -> ExpertVector:
    """``log Gamma(a + n / 2) - log Gamma(a)``, without the cancellation of large ``a``."""
    rest = 0.5 * (n_halves % 2)
    steps = np.arange(n_halves // 2)
    return np.asarray(np.log(poch(a, rest)) + np.log(a[:, None] + rest + steps).sum(axis=1))
