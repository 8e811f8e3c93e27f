"""Held-out log density of families beside the standard model of each, on published data.

    python tests/benchmarks/bench_held_out_families.py [data ...]
    python tests/benchmarks/bench_held_out_families.py rates [sets] [first seed] [family ...]

Absences (`MASS::quine`, negative binomial), satisfaction (`MASS::housing`, ordinal), survival of
lung cancer (`survival::lung`, Weibull, right censored), yields of crude oil (`MASS::petrol`, the
rows of `GasolineYield`) by `Rscript`; pupils above the median (`star98`, binomial) and shares of
incomes spent on food, of statsmodels. Ten folds; the standard model is the maximum of the
likelihood of the same family: statsmodels' `NegativeBinomial`, `OrderedModel` and `GLM`, a Weibull
regression. Of proportions it is beta regression (`BetaModel`), and bayesvb has a Gaussian
regression of their logits. Ordered responses have one component: the package refuses several.
Writes docs/benchmarks/held_out_families.csv: nats per row, and the difference from the standard
model with its standard error.

``rates`` compares two components under the default priors and under the prior rate 0.005 of the
scales, which Gaussian components have: on simulated rows (slopes of 3 standard errors of opposite
signs, ``small``; of 10, ``large``; one component only, ``one``; three further columns without
effect), 2,000 new rows, and on published data, five folds. Writes held_out_rates.csv: nats per row
by which the default is better, with its standard error over sets or over rows.
"""

import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import statsmodels.api as sm
from bench_effect_sizes import INTERCEPTS, LEFT, SHARES, information, response
from scipy.optimize import minimize
from scipy.stats import beta, binom, nbinom
from statsmodels.miscmodels.ordinal_model import OrderedModel
from statsmodels.othermod import betareg
from statsmodels.othermod.betareg import BetaModel
from tables import keep

import bayesvb as bvb

FOLDS = 10
NEW_ROWS = 2000
EFFECTS = {"small": (3.0, -3.0), "large": (10.0, -10.0), "one": (3.0,)}
"""Slopes of the components in standard errors."""
BEFORE = bvb.Priors(coefficient_sd=2.5, scale_rate=0.005)
LEVELS = ["Low", "Medium", "High"]


def from_r(call):
    """A data set of an R package."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.csv"
        subprocess.run(["Rscript", "-e", f"write.csv({call}, '{path}', row.names=F)"], check=True)
        return pd.read_csv(path)


def columns(data, names):
    """Indicators of words, and numbers, with a constant."""
    coded = pd.get_dummies(data[names], drop_first=True, dtype=float)
    return sm.add_constant(coded, has_constant="add")


def counts(train, test):
    names = ["Eth", "Sex", "Age", "Lrn"]
    both = columns(pd.concat([train, test]), names)
    fit = sm.NegativeBinomial(train["Days"], both[: len(train)]).fit(disp=0, maxiter=200)
    mean, size = np.exp(both[len(train) :] @ fit.params[:-1]), 1.0 / fit.params.iloc[-1]
    return nbinom.logpmf(test["Days"], size, size / (size + mean))


def levels(train, test):
    both = columns(pd.concat([train, test]), ["Infl", "Type", "Cont"]).drop(columns="const")
    order = pd.Series(pd.Categorical(train["Sat"], LEVELS, ordered=True))
    fit = OrderedModel(order, both[: len(train)].reset_index(drop=True), distr="logit").fit(disp=0)
    shares = np.asarray(fit.model.predict(fit.params, both[len(train) :]))
    return np.log(shares[np.arange(len(test)), test["Sat"].map(LEVELS.index)])


def weibull_density(parameters, design, time, seen):
    """Log density of times that are seen, log survival of the others."""
    log_shape, beta = parameters[0], parameters[1:]
    at = np.exp(log_shape) * (np.log(time) - design @ beta)
    return seen * (log_shape + at - np.log(time)) - np.exp(at)


def times(train, test):
    design = [columns(one, ["age", "sex", "ph_ecog"]).to_numpy(float) for one in (train, test)]
    known = [(one["time"].to_numpy(float), one["seen"].to_numpy()) for one in (train, test)]
    start = np.r_[0.0, np.log(known[0][0].mean()), np.zeros(design[0].shape[1] - 1)]
    found = minimize(lambda p: -weibull_density(p, design[0], *known[0]).sum(), start).x
    return weibull_density(found, design[1], *known[1])


def shares(train, test):
    names = ["LOWINC", "PERASIAN", "PERBLACK", "PERHISP", "PCTYRRND"]
    both = [sm.add_constant(one[names]) for one in (train, test)]
    fit = sm.GLM(train[["k", "below"]], both[0], sm.families.Binomial()).fit()
    return binom.logpmf(test["k"], test["n"], fit.predict(both[1]))


def proportions(*names):
    """Beta regression on these columns."""

    def scores(train, test):
        both = columns(pd.concat([train, test]), list(names)).reset_index(drop=True)
        old, new = both[: len(train)], both[len(train) :]
        fit = BetaModel(train["share"].reset_index(drop=True), old).fit(disp=0, maxiter=1000)
        mean, precision = fit.predict(new), np.exp(fit.params.iloc[-1])
        return beta.logpdf(test["share"], mean * precision, (1.0 - mean) * precision)

    return scores


def sets():
    """Name -> data, formula, family, standard model."""
    housing = from_r("MASS::housing")
    lung = from_r("survival::lung").rename(columns={"ph.ecog": "ph_ecog"}).dropna(subset="ph_ecog")
    star = sm.datasets.star98.load_pandas().data
    star = star.assign(k=star["NABOVE"], below=star["NBELOW"], n=star["NABOVE"] + star["NBELOW"])
    people = housing.loc[housing.index.repeat(housing["Freq"])].reset_index(drop=True)
    oil = from_r("MASS::petrol")
    food = pd.read_csv(Path(betareg.__file__).parent / "tests/results/foodexpenditure.csv")
    covariates = "LOWINC + PERASIAN + PERBLACK + PERHISP + PCTYRRND"
    return {
        "quine": (from_r("MASS::quine"), "Days ~ Eth + Sex + Age + Lrn", "negbinomial", counts),
        "housing": (people, "Sat ~ Infl + Type + Cont", "ordinal", levels),
        "lung": (
            lung.assign(seen=lung["status"] - 1),
            "Surv(time, seen) ~ age + sex + ph_ecog",
            "weibull",
            times,
        ),
        "star98": (star, f"k | trials(n) ~ {covariates}", "binomial", shares),
        "petrol": (
            oil.assign(share=oil["Y"] / 100.0),
            "log(share / (1 - share)) ~ No + EP",
            "gaussian",
            proportions("No", "EP"),
        ),
        "food": (
            food.assign(share=food["food"] / food["income"]),
            "log(share / (1 - share)) ~ income + persons",
            "gaussian",
            proportions("income", "persons"),
        ),
    }


def held_out(data, formula, family, n_components, train, test, **options):
    options |= {"levels": LEVELS} if family == "ordinal" else {}
    model = bvb.DensityRegression(
        formula, data.iloc[train], family=family, n_components=n_components, **options
    )
    fit = model.fit(seed=1, n_jobs=1)
    return fit.log_density(data.iloc[test], jacobian=family == "gaussian").to_numpy()


def simulated(family, law, n, seed):
    """Rows of a law for a fit, and new ones."""
    rng = np.random.default_rng([seed, n, len(law), 5])
    further = {"negbinomial": 5.0, "gamma": 3.0, "weibull": 1.5}.get(family, 1.0)
    effects = np.array(EFFECTS[law])
    base, shares = np.array(INTERCEPTS[family])[: len(effects)], SHARES[: len(effects)]
    slopes = effects / np.sqrt(n * shares * information(family, base, further))
    x, kind = rng.normal(size=(4, n + NEW_ROWS)), rng.random(n + NEW_ROWS) > SHARES[0]
    kind = kind.astype(int) % len(effects)
    y = response(family, base[kind] + slopes[kind] * x[0], further, rng)
    return pd.DataFrame({"y": y, "x": x[0], "z": x[1], "v": x[2], "w": x[3]})


def rates_simulated(family, sets, first):
    """Mean gain per new row of every law and number of rows."""
    formula = f"{LEFT.get(family, 'y')} ~ x + z + v + w | 1"
    for law in EFFECTS:
        for n in (100, 400):
            gains = []
            for seed in range(first, first + sets):
                given = simulated(family, law, n, seed), formula, family, 2
                rows = np.arange(n), np.arange(n, n + NEW_ROWS)
                after, before = held_out(*given, *rows), held_out(*given, *rows, priors=BEFORE)
                gains.append(np.mean(after - before))
            line = {"family": family, "data": f"{family}, {law}", "rows": n, "sets": sets}
            error = np.std(gains, ddof=1) / np.sqrt(sets)
            yield {**line, "gain": np.mean(gains), "se": error}


def published():
    """Name -> data, formula and family of two components."""
    lung, times = sets()["lung"][0], "Surv(time, status)"
    star, formula, family, _ = sets()["star98"]
    articles = from_r("pscl::bioChemists")
    trips = from_r("{data(RecreationDemand, package='AER'); RecreationDemand}")
    people = bvb.datasets.load("cps1985")
    return {
        "quine": (from_r("MASS::quine"), "Days ~ Eth + Sex + Age + Lrn | 1", "negbinomial"),
        "epil": (from_r("MASS::epil"), "y ~ trt + lbase + lage + V4 | 1", "poisson"),
        "bioChemists": (articles, "art ~ fem + mar + kid5 + phd + ment | 1", "negbinomial"),
        "bioChemists, Poisson": (articles, "art ~ fem + mar + kid5 + phd + ment | 1", "poisson"),
        "RecreationDemand": (
            trips,
            "trips ~ quality + ski + income + userfee + costC + costS + costH | 1",
            "negbinomial",
        ),
        "cps1985": (people, "wage ~ education + age + gender + sector + union | 1", "gamma"),
        "engel": (bvb.datasets.load("engel"), "foodexp ~ log(income) | 1", "gamma"),
        "lung": (
            lung.assign(status=lung["status"] - 1),
            f"{times} ~ age + sex + ph_ecog | 1",
            "weibull",
        ),
        "veteran": (
            from_r("survival::veteran"),
            f"{times} ~ trt + celltype + karno + age | 1",
            "weibull",
        ),
        "star98": (star, f"{formula} | 1", family),
    }


def rates_published():
    """Mean gain per held-out row of each data set."""
    for name, (table, formula, family) in published().items():
        data, part = table.reset_index(drop=True), np.arange(len(table))
        part = np.random.default_rng(2).permutation(part) % 5
        gains = np.empty(len(data))
        for fold in range(5):
            rows = np.flatnonzero(part != fold), np.flatnonzero(part == fold)
            given = data, formula, family, 2, *rows
            gains[rows[1]] = held_out(*given) - held_out(*given, priors=BEFORE)
        line = {"family": family, "data": name, "rows": len(data), "sets": 1, "gain": gains.mean()}
        yield {**line, "se": gains.std(ddof=1) / np.sqrt(len(gains))}


def compare_rates(arguments):
    """Both prior rates on simulated and on published data."""
    n_sets, first = ([int(a) for a in arguments[:2]] + [10, 301][len(arguments[:2]) :])[:2]
    lines = []
    for family in arguments[2:] or [*INTERCEPTS, "published"]:
        every = (
            rates_published() if family == "published" else rates_simulated(family, n_sets, first)
        )
        for line in every:
            lines.append(line)
            print(line, flush=True)
    keep(pd.DataFrame(lines), "held_out_rates", by="data")


def main():
    warnings.simplefilter("ignore")
    if sys.argv[1:2] == ["rates"]:
        return compare_rates(sys.argv[2:])
    lines = []
    given = sets()
    for name in sys.argv[1:] or given:
        table, formula, family, standard = given[name]
        data = table.reset_index(drop=True)
        part = np.random.default_rng(1).permutation(len(data)) % FOLDS
        folds = [
            (np.flatnonzero(part != fold), np.flatnonzero(part == fold)) for fold in range(FOLDS)
        ]
        known = np.concatenate([standard(data.iloc[a], data.iloc[b]) for a, b in folds])
        for size in (1, 2) if family != "ordinal" else (1,):
            own = np.concatenate([held_out(data, formula, family, size, *fold) for fold in folds])
            gain = own - known
            line = {"data": name, "rows": len(data), "family": family, "components": size}
            line |= {"standard": known.mean(), "bayesvb": own.mean(), "gain": gain.mean()}
            lines.append({**line, "se": gain.std(ddof=1) / np.sqrt(len(gain))})
            print(lines[-1], flush=True)
    keep(pd.DataFrame(lines), "held_out_families", by="data")


if __name__ == "__main__":
    main()
