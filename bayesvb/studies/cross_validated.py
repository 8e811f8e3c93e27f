"""Results of cross-validation: scores of models, paired differences, a table, a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from bayesvb.argument_checks import check_choice, checked
from bayesvb.data.case_weights import sum_and_error
from bayesvb.data.line_width import line_width, number_text, wrapped_text
from bayesvb.drawing import marks
from bayesvb.drawing.palette import palette_of
from bayesvb.errors import DataError
from bayesvb.evaluation.classification import calibration_error
from bayesvb.numerics.arrays import RowIntegers
from bayesvb.results.limits import LIMITS
from bayesvb.studies.compared_rows import ComparedRows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LABELS = ("model", "repeat", "fold", "row", "group")
"""Columns of the rows that are not scores."""

ENOUGH = 0.9
"""Smallest proportion of another model's scored rows for a comparison with it: rows without a score
are difficult ones, and would be excluded for all models."""


@dataclass(frozen=True, eq=False, repr=False)
class CrossValidation:
    """Scores of held-out rows by models that have not seen them.

    Attributes
    ----------
    rows : pandas.DataFrame
        One row for each model, repetition and held-out row (or group of rows): ``model``,
        ``repeat``, ``fold``, ``row`` (label in the data), ``group`` if there are groups, and its
        scores: ``log_density``; of numbers ``crps``, ``pit``, ``pinball 0.5``, ``coverage 0.9``
        (one or zero) and the like; of classes ``accuracy`` (one or zero), ``brier``, ``class`` and
        the probabilities ``p[class]``.
    fits : pandas.DataFrame
        One row for each fit: model, repeat, fold, ``n`` and ``n_test``, seconds, converged,
        ``failure``, the reason why scores are missing, and ``n_unknown``, held-out rows
        with levels of a factor that the training rows lack, which are not scored.
    dropped : int
        Rows that a model could not use, which were left to none.
    seed : int
    """

    rows: pd.DataFrame
    fits: pd.DataFrame
    dropped: int
    seed: int
    _folds: Int[np.ndarray, "repeats units"]
    _clusters: Int[np.ndarray, " units"]
    _units: pd.Index

    @classmethod
    def of(
        cls,
        done: Sequence[tuple[dict[str, Any], pd.DataFrame | None]],
        planned: int,
        compared: ComparedRows,
        numbers: Int[np.ndarray, "repeats rows"],
        seed: int,
    ) -> CrossValidation:
        """Tables of the fits that were made.

        Raises
        ------
        DataError
            If nothing was fitted.
        """
        fits = pd.DataFrame([record for record, _ in done]).drop(columns="number")
        if not any(scored is not None for _, scored in done):
            raise DataError(f"none of {planned} fits could be made: {fits['failure'].iloc[0]}")
        folds, clusters, units = _by_unit(compared, numbers)
        tables, unknown = [], fits.pop("unknown")
        fits["n_unknown"] = unknown.map(len)
        for (record, scored), strange in zip(done, unknown, strict=True):
            if scored is not None:
                place = units.get_indexer(scored.index) if compared.unit else np.setdiff1d(
                    np.flatnonzero(folds[record["repeat"] - 1] == record["fold"] - 1), strange
                )  # fmt: skip
                labels = {name: record[name] for name in ("model", "repeat", "fold")}
                own = scored.reset_index(drop=True).assign(row=units[place], unit=place, **labels)
                if compared.groups is not None:
                    own["group"] = pd.factorize(compared.groups)[1][clusters[place]]
                tables.append(own)
        rows = pd.concat(tables, ignore_index=True)
        first = [name for name in (*LABELS, "unit") if name in rows]
        rows = rows[[*first, *(name for name in rows if name not in first)]]
        return cls(rows, fits, compared.dropped, seed, folds, clusters, units)

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models that have scores, in their order."""
        return tuple(dict.fromkeys(self.rows["model"]))

    @property
    def score_names(self) -> tuple[str, ...]:
        """Scores that are means over rows."""
        apart = {*LABELS, "unit", "class"}
        names = [str(name) for name in self.rows if name not in apart]
        return tuple(n for n in names if not n.startswith("p[") and n.split(":")[0] != "pit")

    @property
    def best(self) -> str:
        """The model with the largest mean log density over rows that all candidates scored.

        No candidates are models of which a fit failed, if others have none that did, and those that
        lack more than a tenth of the rows that another one scored.
        """
        each = self._log_densities(self.candidates)
        common = each.dropna()
        return str((each if common.empty else common).mean().fillna(-np.inf).idxmax())

    @property
    def candidates(self) -> tuple[str, ...]:
        """Models that may be the best, see there."""
        counts = self._log_densities(self.models).notna().sum()
        enough = [name for name in self.models if counts[name] >= ENOUGH * counts.max()]
        failed = set(self.fits.loc[self.fits["failure"] != "", "model"])
        return tuple(name for name in enough if name not in failed) or tuple(enough)

    @cached_property
    def scores(self) -> pd.DataFrame:
        """Means: columns model, score, mean, se (see ``differences``) and rows.

        ``ece``, the calibration error of the most probable class in 20 bins, is not a mean over
        rows and has no standard error; it is the mean over repetitions.
        """
        scores = []
        for model in self.models:
            for score in self.score_names:
                mean, error, n = mean_and_error(self._scored(model, score), self._clusters)
                scores.append((model, score, mean, error, n))
            if "class" in self.rows:
                n = scores[-1][-1]
                scores.append((model, "ece", self._calibration_error(model), float("nan"), n))
        return pd.DataFrame(scores, columns=["model", "score", "mean", "se", "rows"])

    def differences(self, reference: str | None = None) -> pd.DataFrame:
        """Paired differences of every model from one of them, over the rows that both scored.

        Parameters
        ----------
        reference : str, optional
            By default the best by log density.

        Returns
        -------
        pandas.DataFrame
            Columns model, reference, score, difference, ``se`` and ``se_resampled``. ``se`` is over
            rows, or over groups if there are any: the variation with other rows, given these fits.
            ``se_resampled`` is over folds, corrected for training rows that they share: it includes
            the variation with other training rows; with few folds it is itself uncertain.
        """
        reference = self.best if reference is None else reference
        check_choice("reference", reference, self.models)
        differences = []
        for model in self.models:
            for score in self.score_names:
                if model == reference or score.startswith("coverage"):
                    continue
                with np.errstate(invalid="ignore"):
                    gap = self._scored(model, score) - self._scored(reference, score)
                mean, error, _ = mean_and_error(gap, self._clusters)
                resampled = resampled_error(gap, self._folds)
                differences.append((model, reference, score, mean, error, resampled))
        names = ["model", "reference", "score", "difference", "se", "se_resampled"]
        return pd.DataFrame(differences, columns=names)

    @checked
    def plot(self, score: str = "log_density", *, ax: Axes | None = None) -> Axes:
        """Differences of a score from the best model, with two standard errors on each side.

        Thick bars are over rows or groups, thin ones over training rows as well.

        Parameters
        ----------
        score : str
        ax : matplotlib.axes.Axes, optional
            Axes of the picture; by default a new figure.

        Returns
        -------
        matplotlib.axes.Axes
        """
        check_choice("score", score, [n for n in self.score_names if not n.startswith("coverage")])
        table = self.differences()
        scores = table[table["score"] == score].set_index("model").reindex(self.models)
        axes = marks.new_axes((6.6, 1.4 + 0.4 * len(scores))) if ax is None else ax
        palette = palette_of(axes)
        marks.dress(axes, palette, x=f"{score}, difference from {self.best}", y="", grid="x")
        y, x = np.arange(len(scores)), scores["difference"].fillna(0.0).to_numpy()
        for name, width in (("se_resampled", 1.2), ("se", 4.0)):
            half = LIMITS.standard_errors * scores[name].fillna(0.0).to_numpy()
            axes.hlines(y, x - half, x + half, color=palette.accent, linewidth=width)
        axes.plot(x, y, "o", color=palette.ink, markersize=5)
        axes.axvline(0.0, color=palette.mute, linewidth=0.8)
        axes.set_yticks(y, list(scores.index))
        axes.set_ylim(len(scores) - 0.5, -0.5)
        return axes

    def table(self) -> pd.DataFrame:
        """Means of the scores, one row for each model, best log density first.

        With the paired difference of the log density from the best and both standard errors. The
        order follows the differences, as means are over the rows that each model scored.
        """
        wide = self.scores.pivot(index="model", columns="score", values="mean")
        wide = wide[[*self.score_names, *(["ece"] if "ece" in wide else [])]]
        gaps = self.differences()
        gaps = gaps[gaps["score"] == "log_density"].set_index("model")
        for place, name in enumerate(("difference", "se", "se_resampled"), start=1):
            wide.insert(place, name, gaps[name].reindex(wide.index))
        order = gaps["difference"].fillna(-np.inf).sort_values(ascending=False, kind="stable")
        return wide.loc[[self.best, *order.index]].rename_axis(index=None, columns=None)

    def __str__(self) -> str:
        repeats = len(self._folds)
        times = "" if repeats == 1 else f", {repeats} times"
        units, n = ("groups", len(set(self._clusters))) if self._grouped else ("rows", 0)
        held = f"{len(self._units)} rows" + (f" in {n} groups" if n else "")
        lines = [
            f"Cross-validation, {int(self._folds.max()) + 1} folds{times}, {held}; means per row",
            *self._shown().to_string(line_width=line_width()).splitlines(),
            f"difference: of the log density from {self.best}; se over {units}, se_resampled over "
            "training rows too",
        ]
        each = self._log_densities(self.candidates)
        if each.isna().to_numpy().any():
            n = len(each.dropna())
            lines.append(f"{self.best} is the best over the {n} rows that all candidates scored.")
        if self.dropped:
            lines.append(f"{self.dropped} rows with missing values were left to no model.")
        failed = self.fits[self.fits["failure"] != ""]
        for model, failures in failed.groupby("model", sort=False):
            n = int(self.rows.loc[self.rows["model"] == model, "unit"].nunique())
            seen = f"its means are of {n} of {len(self._units)} rows"
            lines.append(
                f"{model}: {len(failures)} fits failed, {seen}; {failures['failure'].iloc[0]}"
            )
        unknown = self.fits.groupby("model", sort=False)["n_unknown"].sum()
        for name, n in unknown[unknown > 0].items():
            lines.append(
                f"{name}: {n} held-out {'row has a level' if n == 1 else 'rows have levels'} that "
                "the training rows lack, and no score; as groups, (1 | g), they have one."
            )
        return wrapped_text("\n".join(lines))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return str(self._shown().to_html(na_rep=""))

    def _shown(self) -> pd.DataFrame:
        """The table with as many digits as are read."""
        shown = self.table()
        return shown.map(lambda value: "" if np.isnan(value) else number_text(value))

    @property
    def _grouped(self) -> bool:
        return "group" in self.rows

    def _log_densities(self, models: Sequence[str]) -> pd.DataFrame:
        """Log density of every row or group by each model, the mean over repetitions."""
        rows = self.rows[self.rows["model"].isin(models)]
        with np.errstate(invalid="ignore"):
            wide = rows.pivot_table("log_density", "unit", "model", dropna=False)
        return wide.reindex(columns=list(models))

    def _scored(self, model: str, score: str) -> Scored:
        """Scores of one model by repetition and row."""
        rows = self.rows[self.rows["model"] == model]
        scores = np.full(self._folds.shape, np.nan)
        scores[rows["repeat"].to_numpy() - 1, rows["unit"].to_numpy()] = rows[score].to_numpy()
        return scores

    def _calibration_error(self, model: str) -> float:
        """Mean over repetitions of the error over all their rows."""
        rows = self.rows[self.rows["model"] == model]
        columns = [name for name in rows if str(name).startswith("p[")]
        labels = [str(name)[2:-1] for name in columns]
        errors = []
        for _, part in rows.groupby("repeat"):
            codes = pd.Index(labels).get_indexer(pd.Index(part["class"]))
            p = part[columns].fillna(0.0).to_numpy()
            errors.append(calibration_error(p, codes).error)
        return float(np.mean(errors))


def _by_unit(
    compared: ComparedRows, numbers: Int[np.ndarray, "repeats rows"]
) -> tuple[Int[np.ndarray, "repeats units"], Int[np.ndarray, " units"], pd.Index]:
    """Fold, cluster and label of each row, or of each group that is scored as a whole."""
    frame, groups = compared.frame, compared.groups
    clusters = np.arange(len(frame)) if groups is None else pd.factorize(groups)[0]
    if compared.unit is None:
        index = frame.index if frame.index.is_unique else pd.RangeIndex(len(frame))
        return numbers, clusters, index
    units, first = np.unique(frame[compared.unit].to_numpy(), return_index=True)
    return numbers[:, first], clusters[first], pd.Index(units)


Scored = Float[np.ndarray, "repeats rows"]
"""Scores of the same rows in each repetition; NaN where a fit failed."""


def mean_and_error(scores: Scored, clusters: RowIntegers) -> tuple[float, float, int]:
    r"""Mean over rows, its standard error, and the number of rows.

    A row's score is first averaged over the repetitions, which are of the same row and no new
    information. Rows of one cluster may be alike: with the deviations summed by cluster,
    :math:`u_g = \sum_{i \in g} (s_i - \bar s)`,

    .. math:: \mathrm{se}^2 = \frac{G}{G - 1} \sum_g u_g^2 / n^2,

    which is the usual one if every row is its own cluster. It describes new rows from the same
    population predicted by these fits: it excludes the variation with other training rows.

    References
    ----------
    Vehtari, Gelman, Gabry (2017), doi:10.1007/s11222-016-9696-4, section 5, for rows. Cameron,
    Miller (2015), A practitioner's guide to cluster-robust inference, Journal of Human Resources
    50(2), for clusters.

    Examples
    --------
    >>> mean, error, n = mean_and_error(np.array([[1.0, 2.0, 3.0]]), np.array([0, 1, 2]))
    >>> round(mean, 3), round(error, 3), n
    (2.0, 0.577, 3)
    """
    counted = (~np.isnan(scores)).sum(axis=0)
    there = counted > 0
    n = int(there.sum())
    if n == 0:
        return float("nan"), float("nan"), 0
    each = np.nansum(scores[:, there], axis=0) / counted[there]
    mean = float(each.mean())
    if not np.isfinite(mean):
        return mean, float("nan"), n
    sums = np.bincount(clusters[there], each - mean)[np.unique(clusters[there])]
    return mean, sum_and_error(sums)[1] / n, n


def resampled_error(scores: Scored, folds: Int[np.ndarray, "repeats rows"]) -> float:
    r"""Standard error of the mean that other training rows are part of.

    From the variance s² of the means of the J folds of all repetitions, whose training rows
    overlap, corrected as if folds were random splits:

    .. math:: \mathrm{se}^2 = s^2 \left( \frac 1J +
              \frac{n_\mathrm{test}}{n_\mathrm{training}} \right).

    References
    ----------
    Nadeau, Bengio (2003), Inference for the generalization error, Machine Learning 52, eq. 19.
    Bouckaert, Frank (2004), Evaluating the replicability of significance tests for comparing
    learning algorithms, PAKDD, for repeated folds. Bengio, Grandvalet (2004), No unbiased
    estimator of the variance of K-fold cross-validation, JMLR 5.
    """
    means = [
        float(np.mean(of_fold))
        for row, numbers in zip(scores, folds, strict=True)
        for fold in np.unique(numbers)
        if not np.isnan(of_fold := row[numbers == fold]).any()
    ]
    n_folds = int(folds.max()) + 1
    if len(means) < 2 or not np.isfinite(means).all():
        return float("nan")
    spread = float(np.var(means, ddof=1))
    return float(np.sqrt(spread * (1.0 / len(means) + 1.0 / (n_folds - 1.0))))
