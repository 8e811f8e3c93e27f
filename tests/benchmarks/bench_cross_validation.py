"""Held-out log density on real data, 10-fold cross-validation: all gates against their rivals.

    BAYESVB_DATA=... python tests/benchmarks/bench_cross_validation.py [--resume] [NAME ...]

Every method sees the same folds and the same terms; scales and knots are found in the training
rows of each fold. Up to 1000 rows so is the number of components, by ``bvb.select``; the bounds of
the softmax gate share what the first of them chose. Above, it is the default, 5. Scores of rows
are kept in build/cross_validation, one file per data set, and ``--resume`` goes on from there.
With names of data sets only their rows are scored, and no table is made.

Tables: mean log density with its difference from the best method and from the default gate, and
standard errors of these differences over rows; pinball loss at five levels, in standard deviations
of the response, with quantile regression in place of the kernels.
"""

import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from real_data import REAL_DATA, RealData
from rivals import kernel_density, least_squares, quantile_regression
from tables import RESULTS, keep

import bayesvb as bvb
from bayesvb import DensityRegression
from bayesvb.errors import ConvergenceWarning
from bayesvb.gates import GATES

ROWS = RESULTS.parents[1] / "build" / "cross_validation"
FOLDS = 10
PROBS = (0.05, 0.25, 0.5, 0.75, 0.95)
MANY = 1000
"""Rows above which the number of components is the default one, and kernels are left out."""
NUMBERS = range(1, 7)
FEW_ROWS = {"restarts": 4, "draws": 400}
MANY_ROWS = {"restarts": 2, "draws": 25, "covariance": "mean-field"}  # densities need none
DEFAULT = 5
DEFAULT_GATE = "softmax"
RIVALS = ("dirichlet", "least squares", "kernel density")
CHOOSING = ("softmax", "stick-breaking", "dirichlet")
OTHER_BOUNDS = ("softmax-jensen", "softmax-bouchard")
PINBALL = ("softmax", "dirichlet", "least squares", "quantile regression")


def pinball(y: np.ndarray, quantiles: np.ndarray) -> np.ndarray:
    """Mean over the levels of the loss that their quantiles minimise, for each row."""
    gap = y - quantiles
    probs = np.array(PROBS)[:, None]
    return np.maximum(probs * gap, (probs - 1.0) * gap).mean(axis=0)


class Fold:
    """Training and test rows of one fold, and the scores that methods reach on it."""

    def __init__(self, data: RealData, frame: pd.DataFrame, number: int) -> None:
        fold = np.random.default_rng(1).permutation(len(frame)) % FOLDS
        self.formula, self.number = data.formula, number
        self.train, self.test = frame[fold != number], frame[fold == number]
        self.many = len(frame) > MANY
        effort = MANY_ROWS if self.many else FEW_ROWS
        self.options = {**effort, "seed": number, "n_jobs": 1}
        response = self.model(1, "dirichlet").rows(self.test, response=True).response
        self.y = np.ravel(response)

    def model(self, n_components: int, gate: str) -> DensityRegression:
        return DensityRegression(self.formula, self.train, n_components=n_components, gate=gate)

    def scored(
        self,
        method: str,
        began: float,
        log_density: np.ndarray,
        quantiles: np.ndarray | None = None,
        n_components: int = 0,
    ) -> pd.DataFrame:
        """One line per test row; seconds are those of the fit and of the predictions."""
        loss = np.nan if quantiles is None else pinball(self.y, quantiles)
        return pd.DataFrame(
            {
                "row": self.test.index,
                "fold": self.number,
                "method": method,
                "components": n_components,
                "y": self.y,
                "log_density": log_density,
                "pinball": loss,
                "seconds": time.perf_counter() - began,
            }
        )

    def of_fit(self, fit: bvb.Fit, method: str, began: float) -> pd.DataFrame:
        quantiles = fit.predict(self.test, kind="quantile", q=PROBS).to_numpy().T
        density = fit.log_density(self.test).to_numpy()
        return self.scored(method, began, density, quantiles, fit.model.n_components)

    def gates(self) -> Iterator[pd.DataFrame]:
        """Scores of all gates."""
        chosen = dict.fromkeys(CHOOSING, DEFAULT)
        if not self.many:
            for gate in CHOOSING:
                began = time.perf_counter()
                found = bvb.select(self.model(1, gate), NUMBERS, **self.options)
                chosen[gate] = found.chosen
                yield self.of_fit(found.best, gate, began)
        for gate in GATES if self.many else OTHER_BOUNDS:
            began = time.perf_counter()
            fit = self.model(chosen.get(gate, chosen["softmax"]), gate).fit(**self.options)
            yield self.of_fit(fit, gate, began)

    def rivals(self) -> Iterator[pd.DataFrame]:
        """Scores of what is not ours."""
        model = self.model(1, "dirichlet")
        began = time.perf_counter()
        yield self.scored("least squares", began, *least_squares(model, self.test, PROBS))
        began = time.perf_counter()
        quantiles = quantile_regression(model, self.test, PROBS)
        yield self.scored("quantile regression", began, np.full(len(self.y), np.nan), quantiles)
        if not self.many:
            began = time.perf_counter()
            yield self.scored("kernel density", began, kernel_density(model, self.test))


def scores_of(data: RealData, frame: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Scores of all rows; folds that are in the file already are not done again."""
    done = set(pd.read_csv(path)["fold"]) if path.exists() else set()
    for number in set(range(FOLDS)) - done:
        fold = Fold(data, frame, number)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            found = pd.concat([*fold.gates(), *fold.rivals()])
        found.to_csv(path, mode="a", header=not path.exists(), index=False)
        print(f"{data.name}, fold {number}", flush=True)
    return pd.read_csv(path)


def compared(scores: pd.DataFrame, column: str, sign: float) -> pd.DataFrame:
    """Means of the methods, best first, and their paired differences from two of them."""
    by_row = sign * scores.pivot(index="row", columns="method", values=column).dropna(axis=1)
    per_fold = scores.drop_duplicates(["method", "fold"]).groupby("method")
    table = pd.DataFrame({"method": by_row.columns, column: sign * by_row.mean().to_numpy()})
    for name, method in (("best", by_row.mean().idxmax()), (DEFAULT_GATE, DEFAULT_GATE)):
        gap = by_row.sub(by_row[method], axis=0)
        table[f"difference from {name}"] = sign * gap.mean().to_numpy() + 0.0  # not -0
        table[f"its se, {name}"] = gap.std(ddof=1).to_numpy() / len(by_row) ** 0.5
    for name in ("components", "seconds"):
        table[name] = per_fold[name].mean()[by_row.columns].to_numpy()
    return table.sort_values(column, ascending=sign < 0.0)


def verdict(table: pd.DataFrame) -> str:
    """The default gate and the best of our own against the best of the rivals."""
    first = table[table["method"].isin(RIVALS)].iloc[0]
    ours = table[table["method"].isin(set(GATES) - set(RIVALS))].iloc[0]
    return (
        f"{table['data'].iloc[0]}: {first['method']} - {DEFAULT_GATE} = "
        f"{first[f'difference from {DEFAULT_GATE}']:.4f} "
        f"(se {first[f'its se, {DEFAULT_GATE}']:.4f}); best of ours is {ours['method']}"
    )


def main() -> None:
    ROWS.mkdir(parents=True, exist_ok=True)
    names = [name for name in sys.argv[1:] if name != "--resume"]
    densities, losses = [], []
    for data in [data for data in REAL_DATA if not names or data.name in names]:
        frame = data.load()
        if frame is None:
            print(f"bench_cross_validation: no rows of {data.name}; set BAYESVB_DATA")
            continue
        path = ROWS / f"{data.name}.csv"
        if "--resume" not in sys.argv:
            path.unlink(missing_ok=True)
        scores = scores_of(data, frame.reset_index(drop=True), path)
        named = {"data": data.name, "rows": len(frame)}
        densities.append(compared(scores, "log_density", 1.0).assign(**named))
        scores["pinball"] /= scores.drop_duplicates("row")["y"].std()
        scores = scores[scores["method"].isin(PINBALL)]
        losses.append(compared(scores, "pinball", -1.0).assign(**named))
    if names:
        return
    for name, tables in (("cross_validation", densities), ("cross_validation_pinball", losses)):
        table = pd.concat(tables, ignore_index=True)
        first = ["data", "rows", "method"]
        keep(table[first + [c for c in table if c not in first]], name)
    print(*map(verdict, densities), sep="\n")


if __name__ == "__main__":
    main()
