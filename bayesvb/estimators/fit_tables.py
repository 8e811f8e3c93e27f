"""Tables of a fit for papers, as its methods, and the plug-in protocol of maketables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from bayesvb.argument_checks import checked
from bayesvb.distributions.draw_summaries import summarised
from bayesvb.distributions.intervals import PROB
from bayesvb.errors import BayesVBError
from bayesvb.evaluation.elpd import read_elpd
from bayesvb.results.base import AbstractFit, linear_dof

INTERNAL = frozenset(
    "automatic best_restart cache chains combination core engine engine_log_q from_draws "
    "given_draws held_out log_q make_draws max_iter method_options n_chains named_draws "
    "one_restart order own_covariance parts plain posterior_draws predictive_draws q "
    "recalibrations response robust rows_left_out sampler start_code stats tol traces "
    "variational_draws without_folds".split()
)
"""Attributes of a fit for other modules, which completion does not list."""

LABELS = {
    "N": "Observations",
    "r2": "Bayesian R²",
    "elpd": "LOO elpd",
    "n_components": "Components",
    "family": "Family",
    "se_type": "Posterior",
}
"""Statistics of a fit, by their keys in maketables."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class TabulatedFit(AbstractFit):
    """Fit with tables for papers; ``Fit`` has all other methods.

    ``maketables.ETable([fit])`` makes a table of one or several fits in HTML, LaTeX, Word or Typst
    by the attributes that begin with ``__maketables``.
    """

    def __dir__(self) -> list[str]:
        """Names that completion lists."""
        return [name for name in super().__dir__() if name not in INTERNAL]

    @checked
    def table(self, format: str = "markdown", *, prob: float = PROB) -> Any:
        """Parameters with standard deviation and interval, as a table for a paper.

        Numbers have two significant digits of their standard deviation.

        Parameters
        ----------
        format : {"markdown", "latex", "html", "gt"}
            LaTeX needs the package booktabs. ``"gt"`` returns a ``great_tables.GT`` with a group of
            rows for each part, if that package is installed.
        prob : float
            Probability of the intervals.

        Returns
        -------
        str or great_tables.GT

        Raises
        ------
        DataError
            If the format does not exist or its package is not installed, or the value is not a
            probability.

        Examples
        --------
        >>> import bayesvb as bvb
        >>> fit = bvb.Normal("waiting ~ 1", bvb.datasets.load("faithful")).fit(seed=1)
        >>> fit.table().splitlines()[2][:12]
        '| mu | 70.89'
        """
        from bayesvb.reports.written_tables import written_table

        return written_table(self, format, prob)

    @property
    def __maketables_coef_table__(self) -> pd.DataFrame:
        """Posterior means (b), standard deviations (se) and intervals of the coefficients.

        ``p`` is the posterior probability of the less likely sign, twice, which in large samples is
        a two-sided p-value (Marsman and Wagenmakers 2017, doi:10.1177/0013164416669201).
        """
        from bayesvb.results.summary import coefficient_draws

        draws = coefficient_draws(self)
        parts = dict.fromkeys(label[0] for label in draws.columns)
        components = dict.fromkeys(label[1] for label in draws.columns)
        names = [
            _name(*label, several_parts=len(parts) > 1, several=len(components) > 1)
            for label in draws.columns
        ]
        summarise = partial(summarised, draws.to_numpy(), robust=False, dof=linear_dof(self))
        wide, narrow = summarise(0.95), summarise(0.9)
        columns = {
            "b": wide.centre,
            "se": wide.spread,
            "t": wide.centre / wide.spread,
            "p": 2.0 * np.minimum(wide.positive, 1.0 - wide.positive),
            "ci95l": wide.lower,
            "ci95u": wide.upper,
            "ci90l": narrow.lower,
            "ci90u": narrow.upper,
        }
        return pd.DataFrame(columns, index=pd.Index(names, name="Coefficient"))

    def __maketables_stat__(self, key: str) -> int | float | str | None:
        """Statistic of the fit by its key; None if it is unknown or not available."""
        fit: Any = self
        known: dict[str, Callable[[], int | float | str]] = {
            "N": lambda: self.model.design.n_fitted,
            "r2": lambda: float(fit.r2()["estimate"].iloc[0]),
            "elpd": lambda: read_elpd(fit.loo()).elpd,
            "n_components": lambda: self.model.size,
            "family": lambda: str(self.model.options()["family"]),
            "se_type": lambda: self.covariance,
        }
        try:
            return known[key]() if key in known else None
        except (BayesVBError, KeyError):
            return None

    @property
    def __maketables_depvar__(self) -> str:
        """Response, or all variables."""
        return ", ".join(self.model.design.response_names) or self.model.joint_name

    @property
    def __maketables_vcov_info__(self) -> dict[str, str]:
        """Origin of the intervals."""
        return {"vcov_type": self.covariance}

    @property
    def __maketables_stat_labels__(self) -> dict[str, str]:
        """Labels of the statistics."""
        return LABELS

    @property
    def __maketables_default_stat_keys__(self) -> list[str]:
        """Statistics that a table has by default."""
        return ["N", "r2", "elpd"]


def _name(part: str, component: object, term: str, *, several_parts: bool, several: bool) -> str:
    """Coefficient with its part and component, where there are several."""
    first = f"{part}: " if several_parts else ""
    return f"{first}{term}[{component}]" if several else f"{first}{term}"
