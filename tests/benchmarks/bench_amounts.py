"""Amounts of which some are exactly 0: gamma with ``zero(...)`` compared with Gaussian components.

Five-fold cross-validation of the family that ``bvb.fit`` chooses for such a response. A density and
a probability of 0 are not comparable, so the log score is of an interval of a hundredth of the
standard deviation to both sides of the response; the quantile score is the mean pinball loss of 19
quantiles. The number of Gaussian components is chosen on all rows. Data sets: AER's CreditCard,
PSID1976 and MASchools, read by R, a sample of 1,000 rows of Fair's in statsmodels, and a simulated
one.

    python tests/benchmarks/bench_amounts.py

writes docs/benchmarks/amounts.csv.
"""

import io
import subprocess
import warnings
from collections.abc import Iterator

import numpy as np
import pandas as pd
import statsmodels.datasets
from tables import keep

import bayesvb as bvb

FOLDS, LEVELS = 5, np.arange(0.05, 1.0, 0.05)


def of_r(name: str) -> pd.DataFrame:
    call = f"data({name}, package='AER'); write.csv({name}, row.names=FALSE)"
    return pd.read_csv(io.StringIO(subprocess.check_output(["Rscript", "-e", call], text=True)))


def simulated() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    x, z = rng.normal(size=(2, 400))
    y = np.exp(1.0 + 0.5 * x) * rng.gamma(2.0, 0.5, 400)
    return pd.DataFrame({"y": y * (rng.random(400) > 1.0 / (1.0 + np.exp(1.0 - 0.8 * z)))}).assign(
        x=x, z=z
    )


def data_sets() -> Iterator[tuple[str, pd.DataFrame, str, str]]:
    """Names, tables, responses, and terms."""
    schools = of_r("MASchools")[["english", "income", "lunch", "stratio"]].dropna()
    fair = statsmodels.datasets.fair.load_pandas().data.sample(1000, random_state=1)
    yield "MASchools", schools, "english", "income + lunch + stratio"
    yield "PSID1976", of_r("PSID1976"), "wage", "education + experience + age + youngkids"
    yield "CreditCard", of_r("CreditCard"), "expenditure", "age + income + owner + dependents"
    yield "fair", fair, "affairs", "rate_marriage + age + yrs_married + religious"
    yield "simulated", simulated(), "y", "x + z"


def scores(fit: bvb.Fit, rows: pd.DataFrame, y: np.ndarray, half: float) -> np.ndarray:
    """Log and quantile score of each row."""
    law = fit.model.predictive(fit, rows, None)
    log = np.log(np.maximum(law.cdf(y + half) - law.cdf(y - half), 1e-300))
    errors = y - np.array([fit.predict(rows, "quantile", q=q) for q in LEVELS])
    loss = np.where(errors >= 0.0, LEVELS[:, None], LEVELS[:, None] - 1.0) * errors
    return np.array([log, 2.0 * loss.mean(axis=0)])


def models(data: pd.DataFrame, response: str, terms: str) -> dict[str, tuple[str, int, str]]:
    """Formulas, numbers of components, and families."""
    whole = bvb.DensityRegression(f"{response} ~ {terms}", data, n_components=None)
    number = whole.fit(seed=1, restarts=4).model.n_components
    return {
        "gaussian": (f"{response} ~ {terms}", number, "gaussian"),
        "zero(1)": (f"{response} ~ {terms} | zero(1)", 1, "gamma"),
        "zero(terms)": (f"{response} ~ {terms} | zero({terms})", 1, "gamma"),
    }


def compared() -> Iterator[dict[str, object]]:
    for name, table, response, terms in data_sets():
        data = table.reset_index(drop=True)
        y = data[response].to_numpy(dtype=float)
        fold = np.random.default_rng(1).integers(0, FOLDS, len(data))
        results = {}
        for label, (formula, number, family) in models(data, response, terms).items():
            results[label] = np.empty((2, len(data)))
            for i in range(FOLDS):
                rows = data[fold != i]
                model = bvb.DensityRegression(formula, rows, n_components=number, family=family)
                fit = model.fit(seed=1, restarts=4 if number > 1 else 1, draws=200)
                out = fold == i
                results[label][:, out] = scores(fit, data[out], y[out], y.std() / 100.0)
            gains = results[label] - results["gaussian"]
            mean, se = gains.mean(axis=1), gains.std(axis=1) / len(data) ** 0.5
            case = {"data": name, "rows": len(data), "zeros": (y == 0.0).mean(), "model": label}
            case |= {"components": number, "log score": results[label][0].mean()}
            case |= {"gain": mean[0], "se": se[0], "quantile score": results[label][1].mean()}
            yield {**case, "change": mean[1], "se of change": se[1]}


def main() -> None:
    warnings.simplefilter("ignore")
    keep(pd.DataFrame(list(compared())), "amounts")


if __name__ == "__main__":
    main()
