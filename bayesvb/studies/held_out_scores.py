"""One fit to training rows, and how well it predicts rows that it has not seen."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from bayesvb.errors import DataError
from bayesvb.estimators.fit import Fit
from bayesvb.evaluation.classification import calibration_error, scores
from bayesvb.results.criteria import elpd
from bayesvb.studies.model_makers import MakesModel
from bayesvb.studies.quiet_fits import in_one_line, quiet_fit


@dataclass(frozen=True)
class Trial:
    """One fit of a benchmark.

    Attributes
    ----------
    make : callable
        From training rows to a model.
    training, test : pandas.DataFrame
    options : mapping
        Arguments of ``fit``.
    criteria : sequence of str
        ``"waic"`` and ``"loo"``, of the training rows.
    """

    make: MakesModel
    training: pd.DataFrame
    test: pd.DataFrame
    options: Mapping[str, object]
    criteria: Sequence[str]

    def record(self) -> dict[str, object]:
        """Scores, costs, and in ``failure`` what went wrong, which leaves the rest empty."""
        record: dict[str, object] = {
            "n": len(self.training),
            "n_test": len(self.test),
            **dict.fromkeys(("lpd", "accuracy", "ece", *self.criteria, "seconds"), np.nan),
            "passes": 0,
            "converged": False,
            "failure": "",
        }
        try:
            self._fill(record)
        except Exception as error:
            record["failure"] = in_one_line(error)
        return record

    def _fill(self, record: dict[str, object]) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            model = self.make(self.training)
        began = time.perf_counter()
        fit = quiet_fit(model, self.options)
        record["seconds"] = time.perf_counter() - began
        record["passes"] = int(fit.restarts["n_iter"].sum())
        record["converged"] = bool(fit.converged)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            record |= held_out_scores(fit, self.test)
            for name in self.criteria:
                record[name] = float(elpd(fit, name).elpd / fit.model.source.total_weight)


def held_out_scores(fit: Fit, test: pd.DataFrame) -> dict[str, object]:
    """Mean log predictive density of the complete rows; of classes accuracy and ECE as well.

    Raises
    ------
    DataError
        If no row is complete.
    """
    log_density = fit.log_density(test).dropna()
    if log_density.empty:
        raise DataError("no held-out row is complete", hint="use fewer folds")
    result: dict[str, object] = {"lpd": float(log_density.mean())}
    if fit.model.response.is_categorical:
        rows = fit.model.rows(test, response=True)
        p = fit.predict(test, kind="probability", missing="keep", extrapolation="keep").to_numpy()[
            rows.complete
        ]
        codes = np.asarray(rows.response)
        result["accuracy"] = scores(p, codes).accuracy
        result["ece"] = calibration_error(p, codes).error
    return result
