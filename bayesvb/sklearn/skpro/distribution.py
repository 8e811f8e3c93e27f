"""The predictive distribution of a fit as a distribution of skpro."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd
from skpro.distributions.base import BaseDistribution

from bayesvb.distributions.base import AbstractRowDistribution
from bayesvb.distributions.student_mixture import StudentMixture
from bayesvb.numerics.arrays import Floats, RowVector

if TYPE_CHECKING:
    from bayesvb.estimators.fit import Fit


class PredictiveDistribution(BaseDistribution):
    """Predictive distributions of new responses at some rows, exact and in closed form.

    Parameters
    ----------
    fit : Fit
        With one numeric response.
    rows : pandas.DataFrame
        Covariates; one row of a scalar distribution, which has no index.
    index, columns : pandas.Index, optional
        Labels of the rows, and of the response.

    Examples
    --------
    >>> import bayesvb as bvb
    >>> from bayesvb.sklearn.skpro import PredictiveDistribution
    >>> data = bvb.datasets.load("faithful")
    >>> model = bvb.DensityRegression("waiting ~ eruptions", data, n_components=2)
    >>> fit = model.fit(seed=1, restarts=2)
    >>> round(float(PredictiveDistribution(fit, data[:1]).mean()), -1)
    80.0
    """

    _tags: ClassVar[dict[str, object]] = {
        "capabilities:approx": ["pdfnorm", "energy"],
        "capabilities:exact": ["mean", "var", "pdf", "log_pdf", "cdf", "ppf"],
        "distr:measuretype": "continuous",
        "distr:paramtype": "nonparametric",
        "broadcast_init": "off",
    }

    def __init__(self, fit: Fit, rows: pd.DataFrame, index: object = None, columns: object = None):
        self.fit = fit
        self.rows = rows
        super().__init__(index=index, columns=columns)

    @property
    def law(self) -> AbstractRowDistribution:
        """The distributions as bayesvb has them, found once."""
        if not hasattr(self, "_law"):
            self._law: AbstractRowDistribution = self.fit.predictive(self.rows)
        return self._law

    def _mean(self) -> Floats:
        return self._shaped(self.law.mean())

    def _var(self) -> Floats:
        return self._shaped(self.law.sd() ** 2)

    def _pdf(self, x: Floats) -> Floats:
        return np.asarray(np.exp(self._log_pdf(x)))

    def _log_pdf(self, x: Floats) -> Floats:
        return self._shaped(self.law.log_density(self._flat(x)))

    def _cdf(self, x: Floats) -> Floats:
        return self._shaped(self.law.cdf(self._flat(x)))

    def _ppf(self, p: Floats) -> Floats:
        flat, law = self._flat(p), self.law
        levels, place = np.unique(flat, return_inverse=True)
        if len(levels) > 1 and isinstance(law, StudentMixture):
            return self._shaped(law.quantile_by_row(flat))
        quantiles = law.quantile(levels)
        return self._shaped(quantiles[place.ravel(), np.arange(len(flat))])

    def _sample(self, n_samples: int | None = None) -> float | pd.DataFrame:
        """Draws, with the numbers of samples as a first level of the index if there are several."""
        rng = np.random.default_rng(np.random.randint(2**31 - 1))  # noqa: NPY002, skpro's seed
        drawn = self.law.draws(n_samples or 1, rng)
        if not self.ndim:
            return float(drawn[0, 0]) if n_samples is None else pd.DataFrame(drawn)
        tables = [pd.DataFrame(one[:, None], self.index, self.columns) for one in drawn]
        return tables[0] if n_samples is None else pd.concat(tables, keys=range(n_samples))

    def _iloc(self, rowidx: Any = None, colidx: Any = None) -> PredictiveDistribution:
        """The distributions of some rows; there is one column."""
        if np.ndim(rowidx) == 0 and np.ndim(colidx) == 0 and None not in (rowidx, colidx):
            return self._iat(rowidx, colidx)
        at = self._places(rowidx, len(self.rows))
        columns = self.columns.take(self._places(colidx, 1))
        return type(self)(self.fit, self.rows.iloc[at], self.index.take(at), columns)

    def _iat(self, rowidx: Any = None, colidx: object = None) -> PredictiveDistribution:
        """The distribution of one row, without labels."""
        if rowidx is None or colidx is None:
            raise ValueError("iat needs a row and a column")
        return type(self)(self.fit, self.rows.iloc[[rowidx]])

    @staticmethod
    def _places(given: Any, n: int) -> np.ndarray:
        """Places that a number, a slice, truth values or a list of numbers stand for."""
        every = np.arange(n)
        return every if given is None else np.atleast_1d(every[given])

    def _flat(self, x: Floats) -> RowVector:
        return np.asarray(x, dtype=float).reshape(-1)

    def _shaped(self, values: RowVector) -> Floats:
        return values.reshape(self.shape)

    @classmethod
    def get_test_params(cls, parameter_set: str = "default") -> Sequence[dict[str, object]]:
        """Arguments with which skpro tests distributions."""
        fit = _small_fit()
        rows = fit.model.design.frame[["x"]].iloc[:3]
        return [
            {"fit": fit, "rows": rows, "index": rows.index, "columns": pd.Index(["y"])},
            {"fit": fit, "rows": rows.iloc[:1]},
        ]


@cache
def _small_fit() -> Fit:
    """A line through a few points."""
    from bayesvb.estimators.density_regression import DensityRegression

    x = np.arange(12.0)
    frame = pd.DataFrame({"x": x, "y": 2.0 * x + np.cos(7.0 * x)})
    return DensityRegression("y ~ x", frame, n_components=1).fit(seed=1, restarts=1)
