"""Shared code of public models that can draw from their prior."""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bayesvb.argument_checks import check_count, check_listed, checked, fresh_seed, shown
from bayesvb.data.blocks import Block
from bayesvb.errors import DataError
from bayesvb.estimators.base import AbstractEstimator
from bayesvb.estimators.parameter_values import checked_draws
from bayesvb.numerics.arrays import DrawRows, DrawVector
from bayesvb.results.all_rows import fitted_rows
from bayesvb.results.named_draws import HasDraws, NamedDraws, log_joint
from bayesvb.results.prior_predictive import prior_predictive
from bayesvb.variational.local import Draws


class AbstractGenerative(AbstractEstimator):
    """A public model whose draws may come from the prior or from a fit.

    Its core has ``prior_draws``.
    """

    @property
    @abc.abstractmethod
    def core(self) -> Any:
        """The model on the standardised scale."""

    @abc.abstractmethod
    def named_draws(self, fit: HasDraws) -> NamedDraws:
        """Draws in the data's units."""

    @abc.abstractmethod
    def replicates(
        self, fit: HasDraws, draws: Draws, block: Block, rng: np.random.Generator
    ) -> dict[str, DrawRows]:
        """One replicated data set per draw, by name."""

    @checked
    def prior_predictive(self, draws: int = 500, seed: int | None = None) -> Any:
        """Draws of the parameters and of the data from the prior, before anything is fitted.

        Parameters
        ----------
        draws : int
        seed : int, optional
            By default a new one is drawn, and kept in the attributes.

        Returns
        -------
        InferenceData (ArviZ 0.x) or DataTree (ArviZ 1.x)
            Group ``prior`` with the names, axes and units of the posterior of a fit, and group
            ``prior_predictive`` with data at the rows used, at most 500 of them.
        """
        return prior_predictive(self, draws, seed)

    @checked
    def prior_draws(self, draws: int = 500, seed: int | None = None) -> Draws:
        """Draws of the parameters from the prior, as the model has them: what ``log_joint`` takes.

        They belong to the standardised data, and to the model's own parametrisation: a softmax gate
        has coefficients of all components, of which ``prior_predictive`` shows differences.

        Parameters
        ----------
        draws : int
        seed : int, optional
            By default a new one is drawn.

        Returns
        -------
        dict of str to ndarray, shape (draws, ...)
            ``fit.draws`` has the same names and shapes.
        """
        check_count("draws", draws)
        return self.core.prior_draws(draws, np.random.default_rng(fresh_seed(seed)))  # type: ignore[no-any-return]

    def log_joint(
        self, parameters: Mapping[str, object], *, order: Sequence[int] | None = None
    ) -> float | DrawVector:
        r"""Log prior density of the parameters plus the log likelihood of the data given them.

        The likelihood is in the units of the data; a row of case weight w counts w times; classes,
        scores and latent vectors are summed or integrated out. The prior density belongs to the
        parameters as they are given here, on the standardised scale: ``prior_table`` has it in the
        units of the data.

        Parameters
        ----------
        parameters : Mapping of str to array
            Named and shaped as ``prior_draws`` and ``fit.draws``: all parameters, with a leading
            axis of draws or, for one point, without. Coefficients belong to standardised columns
            and response; ``precision`` is ``1 / sigma^2`` or the inverse of a covariance matrix;
            ``gate`` has the coefficients of the logits of all components or sticks, or the weights
            themselves if they do not depend on covariates.
        order : sequence of int, optional
            ``fit.order``, for the draws of a fit: how its components were sorted. Only sticks need
            it, whose order is part of the model.

        Returns
        -------
        float or ndarray, shape (draws,)

        Raises
        ------
        DataError
            A parameter is missing or unknown, has another shape, or a value outside its support; or
            ``order`` is not an order of the components.

        Examples
        --------
        >>> import bayesvb as bvb
        >>> data = bvb.datasets.load("mcycle")
        >>> model = bvb.DensityRegression("accel ~ times", data, n_components=2)
        >>> model.log_joint(model.prior_draws(3, seed=1)).shape
        (3,)
        """
        if order is None:
            core = self.core
        else:
            core = self.relabelled(self.core, _permutation(order, self.size))
        draws, single = checked_draws(core, parameters)
        log_density = log_joint(core, fitted_rows(self), draws, self.log_jacobian)
        return float(log_density[0]) if single else log_density


def _permutation(order: Sequence[int], size: int) -> list[int]:
    """The order of the components as integers; a single component may be omitted.

    Raises
    ------
    DataError
        If it is not each number of a component once.
    """
    check_listed("order", order)
    numbers = [int(one) for one in order if isinstance(one, int | np.integer)]
    if size == 1 and len(order) == 0:
        return [0]
    if len(numbers) != len(order) or sorted(numbers) != list(range(size)):
        raise DataError(
            f"order={shown(order)} must name each of the components 0 to {size - 1} once",
            hint="write order=fit.order",
        )
    return numbers
