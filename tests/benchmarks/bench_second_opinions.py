"""Second opinions on a fit, each on three data sets: units, priors, sites, and another program.

    python tests/benchmarks/bench_second_opinions.py [invariance thresholds sites stan]

``invariance``: refits in other units, levels, and orders; ``largest`` is the largest change of a
log density of a row, in nats. ``thresholds``: the model is fitted again with the standard deviation
of the prior at which an interval should include zero; ``largest`` is the distance of the nearer end
from zero in widths of the interval, beside ArviZ's power sensitivity of the same coefficient under
both priors. ``sites``: the sums of a site with a third of the rows are removed from the fit of all
sites, and the fit to the rest continues from there; ``largest`` and ``mean`` are absolute
differences of log densities of rows of the rest, in nats, ``influence`` is the mean change by the
removal, and ``scratch`` the ELBO that initialisations from scratch gain. ``stan``: means of
``fit.to_stan`` against two chains of Stan, in standard deviations, and ratios of standard
deviations; needs pystan. Results: docs/benchmarks/second_opinions.csv.
"""

import importlib.util
import json
import re
import sys
import tempfile
import time
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
from tables import keep

import bayesvb as bvb
from bayesvb.data.sources import InMemorySource
from bayesvb.storage.arviz_objects import arviz_line, import_arviz

WAGES = "log(wage) ~ education + experience + gender"


def regression(name: str, formula: str, n_components: int = 1, **options) -> bvb.Fit:
    """A density regression of a shipped data set."""
    data = bvb.datasets.load(name)
    return bvb.DensityRegression(formula, data, n_components=n_components, **options).fit(
        seed=1, combine="best"
    )


def invariance() -> list[dict[str, object]]:
    """The largest change by any of the other forms of the rows."""
    iris = bvb.datasets.load("iris").drop(columns="label")
    fits = {
        "cps1985, 1 component": regression("cps1985", WAGES),
        "faithful, 2 components": regression("faithful", "waiting ~ eruptions", 2),
        "iris, 3 Gaussians": bvb.GaussianMixture("~ .", iris, n_components=3).fit(seed=1),
        "engel, 2 components": regression("engel", "log(foodexp) ~ log(income)", 2),
        "sleepstudy, groups": regression("sleepstudy", "Reaction ~ Days + (Days | Subject)"),
    }
    tables = {name: fit.invariance() for name, fit in fits.items()}
    return [
        {"data": name, "compared": len(one), "moved": int(one["moved"].sum()),
         "largest": one["largest"].max()}
        for name, one in tables.items()
    ]  # fmt: skip


def power(fit: bvb.Fit, term: str) -> float:
    """ArviZ's sensitivity of a coefficient to a power of the prior."""
    az = import_arviz()
    found = (az.psense if arviz_line() else az.psens)(fit.idata, var_names=["beta", "sigma"])[
        "beta"
    ]
    return float(found.sel(term_mean=term).to_numpy().max())


def thresholds() -> list[dict[str, object]]:
    """Refits with the prior of which it is said that an interval ends at zero."""
    records = []
    for name, formula, term in (
        ("cps1985", WAGES, "experience"), ("cps1985", WAGES, "gender[T.female]"),
        ("mcycle", "accel ~ times", "times"), ("sleepstudy", "Reaction ~ Days", "Days"),
        ("iris", "petal_width ~ petal_length + sepal_length", "sepal_length"),
        ("concrete", "compressive_strength ~ fly_ash", "fly_ash"),
    ):  # fmt: skip
        fit = regression(name, formula)
        row = fit.prior_thresholds(prob=0.9).loc[("mean", 1, term, "coefficient_sd")]
        if np.isnan(row["zero_in_interval"]):
            print(f"{name}, {term}: no prior within a factor of 1,000 would overturn it")
            continue
        priors = replace(fit.model.priors, coefficient_sd=float(row["zero_in_interval"]))
        again = regression(name, formula, priors=priors)
        lower, upper = again.summary(prob=0.9).loc[("mean", 1, term), ["lower", "upper"]]
        width, nearer = upper - lower, min(abs(lower), abs(upper))
        records.append({
            "data": f"{name}, {term}", "compared": 1, "largest": nearer / width,
            "prior": row["value"], "threshold": row["zero_in_interval"],
            "power": power(fit, term), "power there": power(again, term),
        })  # fmt: skip
    return records


def sites() -> list[dict[str, object]]:
    """A fit without one site, compared with the fit to the rows of the others."""
    wages, cancer = bvb.datasets.load("cps1985"), bvb.datasets.load("breast_cancer")
    iris = bvb.datasets.load("iris").drop(columns="label")
    models = {
        "cps1985, 1 component": (
            wages, lambda rows: bvb.DensityRegression(WAGES, rows, n_components=1)
        ),
        "breast_cancer, 9 variables": (
            cancer.filter(like="mean_").iloc[:, :9], lambda rows: bvb.BayesianPCA("~ .", rows)
        ),
        "iris, 3 Gaussians": (iris, lambda rows: bvb.GaussianMixture("~ .", rows, n_components=3)),
        "geyser, 2 components": (
            bvb.datasets.load("geyser"),
            lambda rows: bvb.DensityRegression("waiting ~ duration", rows, n_components=2),
        ),
    }  # fmt: skip
    return [{"data": name, **without_site(rows, make)} for name, (rows, make) in models.items()]


def without_site(rows: pd.DataFrame, make) -> dict[str, float]:
    """Log densities of the rest by the two fits, and of the fit that includes the site."""
    mixed = rows.sample(frac=1.0, random_state=1).reset_index(drop=True)
    site, rest = mixed[: len(mixed) // 3], mixed[len(mixed) // 3 :]
    fit = make(mixed).fit(seed=1, combine="best", covariance="mean-field")
    found = fit.downdate(site, tol=1e-6)
    block = fit.model.block(fit.model.rows(rest, response=fit.model.formula.response is not None))
    model = fit.model.over(InMemorySource.of(block))
    options = {"seed": 1, "tol": 1e-6, "combine": "best", "covariance": "mean-field"}
    same, scratch = model.fit(start=found, restarts=1, **options), model.fit(**options)
    moved = (found.log_density(rest) - same.log_density(rest)).abs()
    influence = (found.log_density(rest) - fit.log_density(rest)).abs()
    return {"compared": len(rest), "largest": moved.max(), "mean": moved.mean(),
            "influence": influence.mean(), "scratch": scratch.elbo - found.elbo}  # fmt: skip


def stan_chains() -> list[dict[str, object]]:
    """Two chains of Stan, of the program that a fit writes."""
    if importlib.util.find_spec("stan") is None:
        print("skipped: pip install pystan")
        return []
    fits = {  # of one program, which is compiled once
        "cps1985": regression("cps1985", WAGES),
        "mcycle": regression("mcycle", "accel ~ times + I(times ** 2)"),
        "sleepstudy": regression("sleepstudy", "Reaction ~ Days"),
        "engel": regression("engel", "foodexp ~ income"),
    }
    return [{"data": name, **against_stan(fit)} for name, fit in fits.items()]


def against_stan(fit: bvb.Fit) -> dict[str, float]:
    """Means and standard deviations of the summary file against the draws of Stan."""
    import stan

    files = fit.to_stan(tempfile.mkdtemp())
    data, ours = (
        json.loads(files[f"model.{kind}.json"].read_text()) for kind in ("data", "summary")
    )
    posterior = stan.build(files["model.stan"].read_text(), data=data, random_seed=1)
    draws = posterior.sample(num_chains=2, num_samples=1000, init=[start_of(ours)] * 2)
    frame = draws.to_frame()
    names = [re.sub(r"[\[,]", ".", name).rstrip("]") for name in ours["names"]]
    mean, sd = frame[names].mean().to_numpy(), frame[names].std().to_numpy()
    ratio = np.array(ours["sd"]) / sd
    return {"compared": len(names), "largest": float((np.abs(ours["mean"] - mean) / sd).max()),
            "least sd": ratio.min(), "largest sd": ratio.max()}  # fmt: skip


def start_of(summary: dict[str, list]) -> dict[str, object]:
    """Initial values of Stan: the means of the summary, by parameter."""
    values: dict[str, dict[tuple[int, ...], float]] = {}
    for name, mean in zip(summary["names"], summary["mean"], strict=True):
        base, _, index = name.rstrip("]").partition("[")
        place = tuple(int(one) - 1 for one in index.split(",")) if index else ()
        values.setdefault(base, {})[place] = mean
    start: dict[str, object] = {}
    for base, entries in values.items():
        array = np.zeros(np.max(list(entries), axis=0) + 1 if () not in entries else ())
        for place, mean in entries.items():
            array[place] = mean
        start[base] = array.tolist()
    return start


QUESTIONS = {
    "invariance": invariance,
    "thresholds": thresholds,
    "sites": sites,
    "stan": stan_chains,
}


def main() -> None:
    """Rows of each question, kept as soon as they are there."""
    warnings.simplefilter("ignore")
    for question in sys.argv[1:] or QUESTIONS:
        began = time.process_time()
        records = QUESTIONS[question]()
        if records:
            table = pd.DataFrame(records).assign(cpu_s=time.process_time() - began)
            table.insert(0, "question", question)
            keep(table, "second_opinions", by="question")


if __name__ == "__main__":
    main()
