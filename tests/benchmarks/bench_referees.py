"""Estimates of each family compared with those of other software.

    python tests/benchmarks/bench_referees.py [rows] [seed]

One component, `y ~ x + z` with wide priors (`coefficient_sd=100`), by `"cavi"` and by
`"em", prior=False`: the largest difference from the maximum of the likelihood in its standard
errors, and the smallest and largest ratio of standard deviations to its standard errors, of
statsmodels (GLM; NegativeBinomial; OrderedModel) and, where `Rscript` is installed, of R (glm;
MASS's glm.nb; survival's survreg). Two components, `y ~ x | 1` with fixed scales, where NumPyro is
installed: coefficients compared with 2,000 draws by `"nuts"`, differences in its standard
deviations. Writes docs/benchmarks/referees.csv.

    python tests/benchmarks/bench_referees.py zero

compares `y ~ x | zero(z)` of 600 rows with NUTS, all coefficients of one component, and writes
docs/benchmarks/referees_zero.csv.
"""

import importlib.util
import io
import shutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import statsmodels.api as sm
from bench_effect_sizes import INTERCEPTS, rows_of_two
from bench_zero import table as zeros
from scipy.optimize import brentq
from scipy.special import digamma, expit
from statsmodels.miscmodels.ordinal_model import OrderedModel
from tables import keep

import bayesvb as bvb

TERMS = ["Intercept", "x", "z"]
PRIORS = bvb.Priors(coefficient_sd=100.0)
R_CALLS = {
    "bernoulli": "glm(y ~ x + z, binomial, d)",
    "binomial": "glm(cbind(y, 10 - y) ~ x + z, binomial, d)",
    "poisson": "glm(y ~ x + z, poisson, d)",
    "negbinomial": "MASS::glm.nb(y ~ x + z, d)",
    "weibull": "survival::survreg(survival::Surv(y, seen) ~ x + z, d)",
}
LEFT = {"binomial": "y | trials(10)", "weibull": "Surv(y, seen)"}


def table(n, seed):
    """Responses of all families with one predictor."""
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=(2, n))
    u, seen = 0.3 + 0.4 * x - 0.3 * z, np.ones(n, dtype=int)
    time, limit = np.exp(u) * rng.weibull(1.5, n), rng.exponential(3.0, n)
    responses = {
        "bernoulli": (rng.random(n) < expit(u)).astype(float),
        "binomial": rng.binomial(10, expit(u)).astype(float),
        "poisson": rng.poisson(np.exp(u)).astype(float),
        "negbinomial": rng.poisson(np.exp(u) * rng.gamma(2.0, 0.5, n)).astype(float),
        "gamma": np.exp(u) * rng.gamma(3.0, 1.0 / 3.0, n),
        "weibull": np.minimum(time, limit),
        "ordinal": 1.0 + np.digitize(u + rng.logistic(size=n), [-1.0, 0.3, 1.5]),
    }
    for family, y in responses.items():
        own = (time <= limit).astype(int) if family == "weibull" else seen
        yield family, pd.DataFrame({"y": y, "x": x, "z": z, "seen": own})


def by_statsmodels(family, data):
    """Coefficients and standard errors by maximum likelihood; None where it has no such model."""
    columns, y = sm.add_constant(data[["x", "z"]]), data["y"]
    if family == "ordinal":
        found = OrderedModel(y, data[["x", "z"]], distr="logit").fit(method="bfgs", disp=0)
        return found.params.to_numpy()[:2], found.bse.to_numpy()[:2]
    if family == "negbinomial":
        found = sm.NegativeBinomial(y, columns).fit(disp=0)
        return found.params.to_numpy()[:3], found.bse.to_numpy()[:3]
    laws = {
        "bernoulli": sm.families.Binomial(),
        "binomial": sm.families.Binomial(),
        "poisson": sm.families.Poisson(),
        "gamma": sm.families.Gamma(sm.families.links.Log()),
    }
    if family not in laws:
        return None
    y = np.column_stack([y, 10.0 - y]) if family == "binomial" else y
    found = sm.GLM(y, columns, laws[family]).fit()
    if family == "gamma":  # the scale of a GLM is Pearson's, not that of maximum likelihood
        found = sm.GLM(y, columns, laws[family]).fit(scale=1.0 / shape_of(y / found.fittedvalues))
    return found.params.to_numpy(), found.bse.to_numpy()


def shape_of(ratios):
    """Shape of gamma responses by maximum likelihood, from their ratios to the means."""
    misfit = np.mean(ratios - np.log(ratios) - 1.0)
    return brentq(lambda a: np.log(a) - digamma(a) - misfit, 1e-3, 1e6)


def by_r(family, data):
    """The same by R, if it is installed and has such a model."""
    if family not in R_CALLS or shutil.which("Rscript") is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.csv"
        data.to_csv(path, index=False)
        code = f"d <- read.csv('{path}'); m <- {R_CALLS[family]}; v <- sqrt(diag(vcov(m)))[1:3]"
        code += "; cat('estimate,error\n'); cat(paste(coef(m)[1:3], v, sep=',', collapse='\n'))"
        done = subprocess.run(["Rscript", "-e", code], check=True, capture_output=True, text=True)
    found = pd.read_csv(io.StringIO(done.stdout))
    return found["estimate"].to_numpy(), found["error"].to_numpy()


def compare(found, given):
    """Largest difference in standard deviations of the referee, and range of ratios of them."""
    (estimate, error), (other, reference) = found, given
    ratio, shift = error / reference, np.abs(estimate - other) / reference
    names = ("difference", "least sd ratio", "largest sd ratio")
    return dict(zip(names, (shift.max(), ratio.min(), ratio.max()), strict=True))


def one_component(n, seed):
    for family, data in table(n, seed):
        formula = f"{LEFT.get(family, 'y')} ~ x + z"
        options = {"family": family, "n_components": 1, "priors": PRIORS}
        model = bvb.DensityRegression(formula, data, **options)
        referees = {"statsmodels": by_statsmodels(family, data), "R": by_r(family, data)}
        for engine, further in (("cavi", {}), ("em", {"prior": False})):
            fit = model.fit(engine, seed=1, draws=10_000, n_jobs=1, **further)
            found = fit.summary().loc[("mean", 1)]
            for referee, given in referees.items():
                if given is not None:
                    mine = found.loc[TERMS[-len(given[0]) :]]
                    pair = mine["mean"].to_numpy(), mine["sd"].to_numpy()
                    case = {"family": family, "components": 1, "engine": engine}
                    yield {**case, "referee": referee, "rows": n, **compare(pair, given)}


def two_components(n, seed):
    for family in INTERCEPTS:
        data, _ = rows_of_two(family, n, 3.0, seed)
        formula = f"{LEFT[family] if family == 'binomial' else 'y'} ~ x | 1"
        options = {"family": family, "n_components": 2, "priors": bvb.Priors(scales="fixed")}
        model = bvb.DensityRegression(formula, data, **options)
        quick = model.fit(seed=1, n_jobs=1, draws=4000)
        tables = []
        for fit in (quick, model.fit("nuts", seed=1, n_jobs=1, draws=2000, chains=2)):
            found = fit.summary().loc["mean"]
            order = found.xs("Intercept", level="term")["mean"].sort_values().index
            found = found.loc[order]
            tables.append((found["mean"].to_numpy(), found["sd"].to_numpy()))
        case = {"family": family, "components": 2, "engine": f"cavi, {quick.covariance}"}
        yield {**case, "referee": "NUTS", "rows": n, **compare(*tables)}


def with_zeros(n, seed):
    for family in ("poisson", "negbinomial", "gamma", "weibull"):
        data, _ = zeros(
            "gamma" if family == "weibull" else family, n, 3.0, np.random.default_rng(seed)
        )
        options = {"family": family, "n_components": 1, "priors": bvb.Priors(scales="fixed")}
        model = bvb.DensityRegression("y ~ x | zero(z)", data, **options)
        quick = model.fit(seed=1, n_jobs=1, draws=4000)
        tables = []
        for fit in (quick, model.fit("nuts", seed=1, n_jobs=1, draws=2000, chains=2)):
            found = fit.summary().loc[["mean", "zero"]]
            tables.append((found["mean"].to_numpy(), found["sd"].to_numpy()))
        case = {"family": family, "components": 1, "engine": f"cavi, {quick.covariance}"}
        yield {**case, "referee": "NUTS", "rows": n, **compare(*tables)}


def main():
    if "zero" in sys.argv:
        warnings.simplefilter("ignore")
        keep(pd.DataFrame(list(with_zeros(600, 1))), "referees_zero")
        return
    n, seed = ([int(a) for a in sys.argv[1:3]] + [400, 1][len(sys.argv[1:3]) :])[:2]
    warnings.simplefilter("ignore")
    lines = list(one_component(n, seed))
    if importlib.util.find_spec("numpyro") is not None:
        lines += two_components(n, seed)
    keep(pd.DataFrame(lines), "referees")


if __name__ == "__main__":
    main()
