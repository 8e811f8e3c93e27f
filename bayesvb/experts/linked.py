"""Experts whose coefficients are Gaussian on the scale of one linear predictor."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, TypeVar, cast

import numpy as np
from jaxtyping import Bool, Float

from bayesvb.data.blocks import Block
from bayesvb.data.parts import MEAN
from bayesvb.data.responses import AllResponses
from bayesvb.data.scaling import Scaling
from bayesvb.experts.drawn_lines import drawn_lines
from bayesvb.experts.regression import (
    AbstractRegressionExperts,
    RegressionPrior,
    RegressionUnits,
    coefficient_rows,
    coefficients_parameter,
)
from bayesvb.factors.normal import Normal
from bayesvb.linear.designs import AbstractDesign
from bayesvb.numerics.arrays import DrawExpertRows, DrawTerms, DrawVector, ExpertRows, TermVector
from bayesvb.numerics.linalg import effective_dof
from bayesvb.numerics.records import changed
from bayesvb.variational.descriptions import NamedParameter, ParameterText, PriorRow
from bayesvb.variational.linear_predictors import design_of, logit_moments
from bayesvb.variational.local import Draws
from bayesvb.variational.supports import AbstractSupport, Real

ExpertsT = TypeVar("ExpertsT", bound="AbstractLinkedExperts")


class AbstractLinkedExperts(AbstractRegressionExperts[Any, Any]):
    """Experts of a linear predictor ``u = x' b_k`` plus an offset, ``b_k`` Gaussian.

    The posterior of the coefficients is Gaussian too; experts may have further parameters.
    """

    posterior_by_row = True
    is_conjugate = False
    learns_scales = True
    reads_offset = True
    scale_units = "units of the linear predictor"

    several_sd = 2.5
    # With 10, as of one component, the mean exp(u) of a component without rows is exp(50).

    scale_words = "columns with mean 0 and standard deviation 1, and the response in its units"

    link_text: ClassVar[ParameterText]
    """Name and meaning of the coefficients, on the scale of the predictor."""

    prior: Normal

    @classmethod
    def from_prior(cls: type[ExpertsT], prior: RegressionPrior) -> ExpertsT:
        """Experts with independent Gaussian coefficients on the scale of the predictor.

        Raises
        ------
        PriorError
            If degrees of freedom are given, which these families do not have.
        """
        prior.check_no_dof()
        law: Any = cls
        precision = np.eye(prior.n_terms) / prior.coefficient_sd**2
        return cast(ExpertsT, law(Normal.from_precision(np.zeros(prior.n_terms), precision)))

    @staticmethod
    def response_scaling(response: AllResponses, *, centred: bool, active: bool = True) -> Scaling:
        """Identity: values of a discrete response have no other unit."""
        return Scaling(np.zeros(1), np.ones(1), None)

    @staticmethod
    def coefficients(posterior: Any) -> Normal:
        """Posterior of the coefficients: here of all parameters."""
        law: Normal = posterior
        return law

    def design(self, block: Block) -> AbstractDesign:
        """Return rows in the structure of the prior."""
        return design_of(self.prior.operator, block, MEAN)

    def predictor(self, posterior: object, block: Block) -> tuple[ExpertRows, ExpertRows]:
        """Mean and variance of the predictor of every row."""
        return with_offset(*logit_moments(self.coefficients(posterior), self.design(block)), block)

    def with_coefficient_precision(
        self: ExpertsT, precision: Float[np.ndarray, "*many terms"]
    ) -> ExpertsT:
        return changed(self, prior=self.prior.with_precision(precision))

    def coefficient_squares(self, posterior: object) -> TermVector:
        """``sum E[b_kj^2]``."""
        return np.asarray(self.coefficients(posterior).squares().sum(axis=-2))

    def drawn_squares(self, draws: Draws) -> DrawTerms:
        """``sum b_kj^2`` of each draw."""
        squares: DrawTerms = (draws["coefficients"] ** 2).sum(axis=(1, 2))
        return squares

    def effective_dof(self, posterior: object) -> Float[np.ndarray, "experts terms"]:
        return effective_dof(self.coefficients(posterior).covariance, self.prior.precision)

    def with_prior_power(self: ExpertsT, power: float) -> ExpertsT:
        """Experts whose prior density is raised to a power; one copy of it if the power is zero."""
        return self if power == 0.0 else changed(self, prior=self.prior.to_the_power(power))

    def collapsed(self, posterior: Any, block: Block) -> Bool[np.ndarray, " experts"]:
        """None: the likelihood has no noise that could vanish."""
        return np.zeros(len(self.coefficients(posterior).mean), dtype=bool)

    def supports(self, n_components: int) -> dict[str, AbstractSupport]:
        """``coefficients``, any numbers."""
        return {"coefficients": Real((n_components, 1, int(self.prior.mean.shape[-1])))}

    def draws(self, posterior: Any, n: int, rng: np.random.Generator) -> Draws:
        """``coefficients`` (draws, experts, 1, terms)."""
        return {"coefficients": self.coefficients(posterior).draws(n, rng)[:, :, None]}

    def prior_draws(self, n: int, n_components: int, rng: np.random.Generator) -> Draws:
        drawn = self.prior.draws(n * n_components, rng)
        return {"coefficients": drawn.reshape(n, n_components, 1, -1)}

    def log_density(self, posterior: Any, draws: Draws) -> DrawVector:
        law = self.prior if posterior is None else self.coefficients(posterior)
        by_expert = law.log_density(draws["coefficients"][:, :, 0])
        total: DrawVector = by_expert.sum(axis=1)
        return total

    def prior_rows(self, units: RegressionUnits) -> list[PriorRow]:
        """Coefficients on the scale of the predictor."""
        return coefficient_rows(units, "Normal", self.prior.precisions**-0.5)

    def parameters(self, draws: Draws, units: RegressionUnits) -> list[NamedParameter]:
        """``beta``, coefficients on the scale of the predictor."""
        return [replace(coefficients_parameter(draws, units), text=self.link_text)]

    def drawn_predictor(self, draws: Draws, block: Block) -> DrawExpertRows:
        """Predictor of every row under each drawn expert."""
        lines = drawn_lines(self.design(block), draws, 0)
        return lines if block.offset is None else lines + block.offset


def with_offset(
    mean: ExpertRows, variance: ExpertRows, block: Block
) -> tuple[ExpertRows, ExpertRows]:
    """Moments of the predictor from the moments of its part that is linear in the coefficients."""
    return (mean if block.offset is None else mean + block.offset), variance
