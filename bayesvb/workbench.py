"""The public models: a formula, data and options in; a fit out."""

from __future__ import annotations

import time
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float

from bayesvb.assembly import Scales, mixture_of, source_of
from bayesvb.blocks import Block, Source
from bayesvb.case_weights import weights_and_frame
from bayesvb.design import Design, Rows, build_design
from bayesvb.engines.restarts import Effort, Search, Watch, search
from bayesvb.fit import Fit
from bayesvb.formula import Formula, parse_formula
from bayesvb.gates import GATES
from bayesvb.linear_response import LinearResponse, sampled_response, withheld
from bayesvb.models.mixture import Mixture
from bayesvb.options import (
    check_choice,
    check_count,
    check_positive,
    fresh_seed,
    processors,
    warn_if_unfinished,
)
from bayesvb.posterior_draws import COVARIANCES, expected_shares
from bayesvb.priors import Priors
from bayesvb.run_tables import restart_table, traces

if TYPE_CHECKING:
    import pandas as pd

METHODS = ("cavi",)
COMBINATIONS = ("best",)


@dataclass(frozen=True, eq=False, init=False, repr=False)
class DensityRegression:
    r"""How the whole distribution of a response changes with covariates.

    A mixture of Gaussian linear regressions whose weights depend on covariates:

    .. math:: p(y \mid x) = \sum_k \pi_k(x)\, N(y \mid x^\top \beta_k, \sigma_k^2).

    Parameters
    ----------
    formula : str
        ``"y ~ x1 + x2 | gating(x1)"``: terms of the experts, then terms of the weights. Without a
        second part the weights have the terms of the experts.
    data : table
        pandas, polars or pyarrow, or a mapping of columns.
    n_components : int
        Number of components, at most one per row.
    gate : {"softmax", "stick-breaking", "dirichlet"}
        How the weights depend on covariates; ``"dirichlet"`` means not at all.
    priors : Priors, optional
        Weakly informative on the standardised scale if left out; see ``prior_table``.
    weights : str or sequence of float, optional
        Case weights: a column's name, or one number per row. A row of weight two counts as two.
    missing : {"drop", "raise"}
        What to do with rows that lack a value; dropped rows are counted.
    context : mapping, optional
        Functions that the formula may call besides the usual ones.

    Raises
    ------
    FormulaError, DataError, PriorError
        The message shows what is wrong and what to write.

    References
    ----------
    Chuu (2018), A Variational Approach for Bayesian Density Regression. Where the report's
    equations are in error the corrected ones are used; the classes of the experts and gates name
    the differences.

    Examples
    --------
    >>> import bayesvb as bvb
    >>> data = bvb.datasets.load("faithful")
    >>> model = bvb.DensityRegression("waiting ~ eruptions", data, n_components=2)
    >>> fit = model.fit(seed=1)
    >>> fit.predict({"eruptions": [2.0, 4.5]}).round(0)
    0    56.0
    1    80.0
    Name: mean, dtype: float64
    """

    formula: Formula
    design: Design
    n_components: int
    gate: str
    priors: Priors
    weights: Float[np.ndarray, " rows"] | None
    scales: Scales
    source: Source

    def __init__(
        self,
        formula: str,
        data: object,
        *,
        n_components: int = 5,
        gate: str = "softmax",
        priors: Priors | None = None,
        weights: object = None,
        missing: str = "drop",
        context: Mapping[str, object] | None = None,
    ) -> None:
        check_choice("gate", gate, tuple(GATES))
        parsed = parse_formula(formula)
        weight, frame = weights_and_frame(weights, data, missing=missing)
        design = build_design(parsed, frame, context=context, missing=missing)
        n_rows = len(design.frame)
        check_count("n_components", n_components, most=n_rows, what="rows that are complete")
        weight = None if weight is None else weight[design.complete]
        priors = priors or Priors()
        response = np.asarray(design.response, dtype=float)
        scales = Scales.of(design.matrices, design.terms, response, active=priors.standardize)
        source = source_of(scales, design.matrices, response, weight)
        values = (parsed, design, int(n_components), gate, priors, weight, scales, source)
        for name, value in zip(self.__dataclass_fields__, values, strict=True):
            object.__setattr__(self, name, value)

    @property
    def mixture(self) -> Mixture:
        """The model on the standardised scale."""
        return mixture_of(
            self.design.terms,
            self.scales,
            self.priors,
            n_components=self.n_components,
            gate=self.gate,
        )

    def recalling(self, complete: Bool[np.ndarray, " given"]) -> DensityRegression:
        """The same model, told which rows of the data it was first given it had to leave out."""
        told = copy(self)
        object.__setattr__(told, "design", replace(self.design, complete=complete))
        return told

    def rows(self, data: object = None, *, response: bool = False) -> Rows:
        """Rows of other data after the formula; those of the fit if left out."""
        if data is not None:
            return self.design.new(data, response=response)
        complete = np.ones(len(self.design.frame), dtype=bool)
        given = self.design.response if response else None
        return Rows(self.design.index, complete, self.design.matrices, given)

    def block(self, rows: Rows) -> Block:
        """Complete rows on the standardised scale."""
        return self.scales.block(rows.matrices, rows.response)

    def prior_table(self) -> pd.DataFrame:
        """Prior of every parameter, in the units of the data; one row per parameter."""
        from bayesvb.prior_table import prior_table

        return prior_table(self)

    def fit(
        self,
        method: str = "cavi",
        *,
        restarts: int = 8,
        combine: str = "best",
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
            Ascents from different starts; the one with the largest bound is kept.
        combine : {"best"}
        draws : int
            Draws from the posterior, for intervals and for ArviZ; at least 25.
        seed : int, optional
            Same seed, same bits. A fresh one is drawn, and kept in the fit, if left out.
        tol : float
            Stop when the bound gains less than this per row and sweep, twice in a row.
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
        check_choice("method", method, METHODS)
        check_choice("combine", combine, COMBINATIONS)
        check_choice("covariance", covariance, COVARIANCES)
        check_count("restarts", restarts)
        check_count("draws", draws, least=25)
        check_count("max_iter", max_iter)
        check_positive("tol", tol)
        if n_jobs is not None:
            check_count("n_jobs", n_jobs)
        seed = fresh_seed(seed)
        began = time.perf_counter()
        *starts, last, rows = np.random.SeedSequence(seed).spawn(restarts + 3)
        source = replace(self.source, workers=n_jobs or processors())
        found = search(
            self.mixture,
            source,
            restarts=restarts,
            effort=Effort(float(tol), max_iter),
            seeds=starts,
            watch=progress,
        )
        warn_if_unfinished(found, max_iter)
        fit = self._fitted(found, draws, np.random.default_rng(last), seed=seed, began=began)
        if covariance == "mean-field" or found.interrupted:
            return fit
        return replace(fit, response=_response(fit, source, rows), seconds=_since(began))

    def _fitted(
        self, found: Search, n_draws: int, rng: np.random.Generator, *, seed: int, began: float
    ) -> Fit:
        """The fit of a search, its components sorted by share."""
        sums = found.final.sums
        sizes = expected_shares(self.mixture, self.source, self.mixture.update(sums))
        order = tuple(np.argsort(-sizes, kind="stable").tolist())
        mixture, sums = self.mixture.permuted(order, sums)
        draws = mixture.draws(mixture.update(sums), n_draws, rng)
        units = float(np.log(self.scales.response.scale).sum())
        return Fit(
            model=self,
            mixture=mixture,
            sums=sums,
            order=order,
            q_draws=draws,
            response=withheld(
                "the fit was interrupted" if found.interrupted else "it was not asked for"
            ),
            restarts=restart_table(found, units),
            traces=traces(found, units, self.source.total_weight),
            converged=found.final.converged and not found.interrupted,
            n_iter=found.final.n_iter,
            seconds=_since(began),
            seed=seed,
        )

    def __str__(self) -> str:
        from bayesvb.printing import model_text

        return model_text(self)

    __repr__ = __str__


def _response(fit: Fit, source: Source, seed: np.random.SeedSequence) -> LinearResponse:
    """Linear response, unless the user does not want to wait for it."""
    try:
        return sampled_response(fit.mixture, source, fit.sums, np.random.default_rng(seed))
    except KeyboardInterrupt:
        return withheld("it was interrupted")


def _since(began: float) -> float:
    return time.perf_counter() - began


MODELS = {"DensityRegression": DensityRegression}
"""Public models by name, for files."""

COMMAND_NAMES = {"density": "DensityRegression"}
"""What the command line calls them."""
