"""What every public model has in common: rows of data, and the fit."""

from __future__ import annotations

import abc
import time
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from jaxtyping import Bool, Float

from bayesvb.blocks import Block, Source
from bayesvb.design import Design, Rows
from bayesvb.engines.restarts import Effort, Watch, search
from bayesvb.errors import DataError
from bayesvb.fit import Fit
from bayesvb.formula import Formula
from bayesvb.models.base import AbstractModel
from bayesvb.named_draws import NamedDraws
from bayesvb.options import (
    check_choice,
    check_count,
    check_positive,
    fresh_seed,
    processors,
)
from bayesvb.parts import Draws
from bayesvb.workbench.fitting import Seeds, Wanted, fitted

if TYPE_CHECKING:
    import pandas as pd

METHODS = ("cavi",)
INTERVALS = ("linear-response", "mean-field")


class AbstractWorkbench(abc.ABC):
    """A public model: formula and data in, ``fit`` out, and what a fit means in the data's units.

    Subclasses are frozen; they hold the design, the standardised rows and the options, and say
    what their draws, predictions and tables are. Everything else is shared.
    """

    title: ClassVar[str]
    """First line of what is printed of a fit."""

    prior_class: ClassVar[type]
    """Class of the prior's numbers."""

    family: ClassVar[str]
    """Name of the distribution, for the attributes of the ArviZ object."""

    own_kinds: ClassVar[tuple[str, ...]] = ()
    """Kinds of prediction that only this model has."""

    combinations: ClassVar[tuple[str, ...]] = ("best",)
    """What can be made of restarts, of ``COMBINATIONS``."""

    default_combination: ClassVar[str] = "best"
    """What is made of restarts unless told otherwise."""

    size_name: ClassVar[str] = "n_components"
    """Argument that is the number of components."""

    order_rule: ClassVar[str] = ""
    """How components are sorted, in a sentence; empty for a model without components."""

    corrected: ClassVar[str] = "Intervals have the linear-response covariance of all parameters."
    """What makes up for the independent factors of the approximation."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    formula: Formula
    design: Design
    source: Source
    weights: Float[np.ndarray, " rows"] | None

    @property
    @abc.abstractmethod
    def core(self) -> AbstractModel[Any, Any]:
        """The model on the standardised scale."""

    @property
    @abc.abstractmethod
    def log_unit(self) -> float:
        """What the log density of a row loses on the way to the data's units."""

    @abc.abstractmethod
    def options(self) -> dict[str, object]:
        """Arguments that make this model again, JSON-able, other than formula, data and weights."""

    @abc.abstractmethod
    def ordered(self, core: Any, sums: Any) -> tuple[AbstractModel[Any, Any], Any, tuple[int, ...]]:
        """Model and statistics with components in the order of their labels, and that order."""

    @abc.abstractmethod
    def relabelled(self, core: Any, order: Sequence[int]) -> AbstractModel[Any, Any]:
        """The model whose components have this order."""

    @abc.abstractmethod
    def named_draws(self, fit: Fit) -> NamedDraws:
        """Draws in the data's units."""

    @abc.abstractmethod
    def observed(self) -> dict[str, Float[np.ndarray, " rows"]]:
        """What the model explains, by name."""

    @abc.abstractmethod
    def replicates(
        self, fit: Fit, draws: Draws, block: Block, rng: np.random.Generator
    ) -> dict[str, Float[np.ndarray, "draws rows"]]:
        """One replicated data set per draw, by name."""

    @abc.abstractmethod
    def predict(
        self, fit: Fit, data: object, kind: str, options: Mapping[str, Any]
    ) -> pd.Series | pd.DataFrame:
        """Prediction for every row of the data; see ``Fit.predict``."""

    @abc.abstractmethod
    def log_density(self, fit: Fit, data: object) -> pd.Series:
        """Log predictive density of each row; see ``Fit.log_density``."""

    @abc.abstractmethod
    def prior_table(self) -> pd.DataFrame:
        """Prior of every parameter, in the units of the data; one row per parameter."""

    @abc.abstractmethod
    def headings(self, fit: Fit) -> dict[str, str]:
        """Title of each part's table in what is printed of a fit, in order."""

    @abc.abstractmethod
    def description(self) -> str:
        """First line of what is printed of the model."""

    @abc.abstractmethod
    def block(self, rows: Rows) -> Block:
        """Complete rows on the standardised scale."""

    def aligned(
        self, fit: Fit, core: Any, sums: Any
    ) -> tuple[AbstractModel[Any, Any], Any, tuple[int, ...]]:
        """Like ``ordered``, with the labels of another fit to the same rows."""
        raise self._lacks("restarts that are combined")

    def notes(self, fit: Fit) -> list[str]:
        """Sentences at the end of what is printed of a fit."""
        return []

    def components(self, fit: Fit, prob: float) -> pd.DataFrame:
        """One row per component; see ``Fit.components``."""
        raise self._lacks("components")

    def responsibilities(self, fit: Fit) -> pd.DataFrame:
        """Probability of each component; see ``Fit.responsibilities``."""
        raise self._lacks("components")

    def predictive(self, fit: Fit, data: object, response: str | None) -> Any:
        """Predictive distribution; see ``Fit.predictive``."""
        raise self._lacks("a predictive distribution of one response")

    def weights_at(
        self, fit: Fit, data: object, draws: int | None
    ) -> Float[np.ndarray, "draws rows experts"]:
        """Draws of the weights; see ``Fit.weights_at``."""
        raise self._lacks("weights that depend on covariates")

    def _lacks(self, what: str) -> DataError:
        return DataError(f"{type(self).__name__} has no such thing as {what}")

    @property
    def joint_name(self) -> str:
        """Name of all that is observed together."""
        return ", ".join(self.observed())

    def _keep(self, *values: object) -> None:
        """Set the fields of the frozen record, in their order."""
        for name, value in zip(self.__dataclass_fields__, values, strict=True):
            object.__setattr__(self, name, value)

    def rows(self, data: object = None, *, response: bool = False) -> Rows:
        """Rows of other data after the formula; those of the fit if left out."""
        if data is not None:
            return self.design.new(data, response=response)
        complete = np.ones(len(self.design.frame), dtype=bool)
        given = self.design.response if response else None
        return Rows(self.design.index, complete, self.design.matrices, given)

    def recalling(self, complete: Bool[np.ndarray, " given"]) -> AbstractWorkbench:
        """The same model, told which rows of the data it was first given it had to leave out."""
        told = copy(self)
        object.__setattr__(told, "design", replace(self.design, complete=complete))
        return told

    def fit(
        self,
        method: str = "cavi",
        *,
        restarts: int = 8,
        combine: str | None = None,
        draws: int = 1000,
        seed: int | None = None,
        tol: float = 1e-6,
        max_iter: int = 2000,
        covariance: str = "linear-response",
        n_jobs: int | None = None,
        progress: Watch | None = None,
    ) -> Fit:
        """Fit by coordinate-ascent variational inference.

        Parameters
        ----------
        method : {"cavi"}
        restarts : int
            Ascents from different starts; the one with the largest score is kept: the bound, or
            for the gate ``softmax-bouchard``, whose bound misranks, the tilted bound.
        combine : {"best", "stack", "average"}, optional
            ``"stack"`` mixes the predictive distributions of the restarts with the weights that
            make their leave-one-out density largest; draws then come from several of them.
            ``"average"`` gives each restart the same weight. ``"best"`` if left out, except for
            networks, whose bound misranks restarts: they are stacked.
        draws : int
            Draws from the posterior, for intervals and for ArviZ; at least 25.
        seed : int, optional
            Same seed, same bits. A fresh one is drawn, and kept in the fit, if left out.
        tol : float
            Stop when the bound gains less than this per row and sweep, twice in a row; at ten
            times this in restarts to which stacking gives no weight.
        max_iter : int
            Passes over the rows of one ascent.
        covariance : {"linear-response", "mean-field"}
            What draws and intervals are made with. Mean-field saves some tens to hundreds of
            passes; its intervals are too narrow.
        n_jobs : int, optional
            Threads that go over the rows, all processors if left out. It changes nothing else.
        progress : callable, optional
            Called with the number of the restart, the passes so far and the bound.

        Warns
        -----
        ConvergenceWarning
            If the run that is kept stopped early, or was interrupted (Ctrl-C).
        """
        combine = combine or self.default_combination
        check_choice("method", method, METHODS)
        check_choice("combine", combine, self.combinations)
        check_choice("covariance", covariance, INTERVALS)
        check_count("restarts", restarts)
        check_count("draws", draws, least=25)
        check_count("max_iter", max_iter)
        check_positive("tol", tol)
        if n_jobs is not None:
            check_count("n_jobs", n_jobs)
        seed = fresh_seed(seed)
        effort = Effort(float(tol), max_iter)
        wanted = Wanted(combine, draws, covariance, effort, seed, time.perf_counter(), progress)
        *starts, last, rows = np.random.SeedSequence(seed).spawn(restarts + 3)
        source = replace(self.source, workers=n_jobs or processors())
        found = search(
            self.core,
            source,
            restarts=restarts,
            effort=effort,
            seeds=starts,
            rough=wanted.rough,
            watch=progress,
        )
        return fitted(self, found, source, wanted, Seeds(last, rows))

    def __str__(self) -> str:
        from bayesvb.printing import model_text

        return model_text(self)

    __repr__ = __str__


def blank_sums(core: AbstractModel[Any, Any], source: Source) -> Any:
    """Sums of no rows: zeros of the right shapes."""
    block = source.blocks[0].part(0, 0)
    return core.begin(block, np.zeros((core.n_components, 0)))
