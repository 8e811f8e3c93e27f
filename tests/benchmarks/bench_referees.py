"""Estimates of each family compared with those of other software.

    python tests/benchmarks/bench_referees.py [rows] [seed]

One component, `y ~ x + z` with wide priors (`coefficient_sd=100`), by `"cavi"` and by
`"em", prior=False`: the largest difference from the maximum of the likelihood in its standard
errors, and the smallest and largest ratio of standard deviations to its standard errors, of
statsmodels (GLM; NegativeBinomial; OrderedModel; MixedLM) and, where `Rscript` is installed, of R
(glm; MASS; survival; mgcv; lme4). Standard errors are from the observed information. Group-level
terms (100 groups of 20 rows; restricted maximum likelihood), a formula of the log standard
deviation, and censored log-normal times likewise. Two components, `y ~ x | 1` with fixed scales,
where NumPyro is installed: coefficients compared with 2,000 draws by `"nuts"`, differences in its
standard deviations. Writes docs/benchmarks/referees.csv.

    python tests/benchmarks/bench_referees.py two SEED FAMILY ...

compares two components of these families in another data set of 400 rows, and adds the rows.

    python tests/benchmarks/bench_referees.py repeated

compares two negative binomial components in two data sets with five runs of NUTS (two chains of
2,000 draws) and with another seed of the fit, and writes docs/benchmarks/referees_repeated.csv.

    python tests/benchmarks/bench_referees.py zero

compares `y ~ x | zero(z)` of 600 rows with NUTS, all coefficients of one component and of two (of
two with exact draws), and writes docs/benchmarks/referees_zero.csv.
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
    ("bernoulli", "glm"): "glm(y ~ x + z, binomial, d)",
    ("binomial", "glm"): "glm(cbind(y, 10 - y) ~ x + z, binomial, d)",
    ("poisson", "glm"): "glm(y ~ x + z, poisson, d)",
    ("negbinomial", "MASS"): "MASS::glm.nb(y ~ x + z, d)",
    ("negbinomial", "mgcv"): "mgcv::gam(y ~ x + z, mgcv::nb(), d, method='ML')",
    ("gamma", "mgcv"): "mgcv::gam(list(y ~ x + z, ~ 1), mgcv::gammals(), d)",
    ("weibull", "survival"): "survival::survreg(survival::Surv(y, seen) ~ x + z, d)",
    ("lognormal", "survival"): "survival::survreg(survival::Surv(y, seen) ~ x + z, d, "
    "dist='lognormal')",
    ("sigma(x)", "mgcv"): "mgcv::gam(list(y ~ x + z, ~ x), mgcv::gaulss(b=0), d)",
    ("(1 | g)", "lme4"): "lme4::lmer(y ~ x + z + (1 | g), d)",
    ("(x | g)", "lme4"): "lme4::lmer(y ~ x + z + (x | g), d)",
}
"""By family or term, and by package of R."""
LEFT = {"binomial": "y | trials(10)", "weibull": "Surv(y, seen)", "lognormal": "Surv(log(y), seen)"}
RIGHT = {"sigma(x)": " | sigma(x)", "(1 | g)": " + (1 | g)", "(x | g)": " + (x | g)"}
N_GROUPS = 100


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


def structured(seed):
    """Gaussian and log-normal responses with further terms."""
    rng = np.random.default_rng([seed, 1])
    group = np.repeat(np.arange(N_GROUPS), 20)
    x, z, noise = rng.normal(size=(3, len(group)))
    level, slope = np.array([[0.6], [0.3]]) * rng.normal(size=(2, N_GROUPS))
    u = 0.3 + 0.4 * x - 0.3 * z
    time, limit = np.exp(u + 0.7 * noise), rng.exponential(3.0, len(group))
    responses = {
        "lognormal": np.minimum(time, limit),
        "sigma(x)": u + np.exp(0.3 * x - 0.2) * noise,
        "(1 | g)": u + level[group] + noise,
        "(x | g)": u + level[group] + slope[group] * x + noise,
    }
    for family, y in responses.items():
        known = {"y": y, "x": x, "z": z, "g": group.astype(str)}
        yield family, pd.DataFrame({**known, "seen": (time <= limit).astype(int)})


def by_statsmodels(family, data):
    """Coefficients and standard errors by maximum likelihood; None where it has no such model."""
    columns, y = sm.add_constant(data[["x", "z"]]), data["y"]
    if family == "ordinal":
        found = OrderedModel(y, data[["x", "z"]], distr="logit").fit(method="bfgs", disp=0)
        return found.params.to_numpy()[:2], found.bse.to_numpy()[:2]
    if family == "negbinomial":
        found = sm.NegativeBinomial(y, columns).fit(disp=0)
        return found.params.to_numpy()[:3], found.bse.to_numpy()[:3]
    if family in ("(1 | g)", "(x | g)"):
        terms = columns[["const", "x"]] if family == "(x | g)" else None
        found = sm.MixedLM(y, columns, data["g"], terms).fit()
        return found.fe_params.to_numpy(), found.bse_fe.to_numpy()
    laws = {
        "bernoulli": sm.families.Binomial(),
        "binomial": sm.families.Binomial(),
        "poisson": sm.families.Poisson(),
        "gamma": sm.families.Gamma(sm.families.links.Log()),
    }
    if family not in laws:
        return None
    y = np.column_stack([y, 10.0 - y]) if family == "binomial" else y
    model = sm.GLM(y, columns, laws[family])
    found = model.fit()
    if family == "gamma":
        # GLM has Pearson's scale and the expected information: here maximum likelihood's and the
        # observed one, whose errors are up to 5% larger in these rows.
        scale = 1.0 / shape_of(y / found.fittedvalues)
        known = -model.hessian(found.params, scale=scale, observed=True)
        return found.params.to_numpy(), np.sqrt(np.diag(np.linalg.inv(known)))
    return found.params.to_numpy(), found.bse.to_numpy()


def shape_of(ratios):
    """Shape of gamma responses by maximum likelihood, from their ratios to the means."""
    misfit = np.mean(ratios - np.log(ratios) - 1.0)
    return brentq(lambda a: np.log(a) - digamma(a) - misfit, 1e-3, 1e6)


def by_r(call, data):
    """The same by R."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.csv"
        data.to_csv(path, index=False)
        code = f"d <- read.csv('{path}'); suppressMessages(m <- {call})"
        code += "; b <- if (isS4(m)) lme4::fixef(m) else coef(m)"
        code += "; v <- sqrt(diag(as.matrix(vcov(m))))[seq_along(b)]"
        code += "; cat('estimate,error\n'); cat(paste(b, v, sep=',', collapse='\n'))"
        done = subprocess.run(["Rscript", "-e", code], check=True, capture_output=True, text=True)
    found = pd.read_csv(io.StringIO(done.stdout))
    return found["estimate"].to_numpy(), found["error"].to_numpy()


def referees(family, data):
    """Estimates and errors by all other software that has the model, by its name."""
    found = {"statsmodels": by_statsmodels(family, data)}
    if shutil.which("Rscript") is not None:
        calls = {name: call for (model, name), call in R_CALLS.items() if model == family}
        found |= {name: by_r(call, data) for name, call in calls.items()}
    return {name: given for name, given in found.items() if given is not None}


def compare(found, given):
    """Largest difference in standard deviations of the referee, and range of ratios of them."""
    (estimate, error), (other, reference) = found, given
    ratio, shift = error / reference, np.abs(estimate - other) / reference
    names = ("difference", "least sd ratio", "largest sd ratio")
    return dict(zip(names, (shift.max(), ratio.min(), ratio.max()), strict=True))


def one_component(n, seed):
    for family, data in [*table(n, seed), *structured(seed)]:
        formula = f"{LEFT.get(family, 'y')} ~ x + z{RIGHT.get(family, '')}"
        options = {"n_components": 1, "priors": PRIORS}
        options |= {} if family in RIGHT or family == "lognormal" else {"family": family}
        model = bvb.DensityRegression(formula, data, **options)
        others = referees(family, data)
        engines = [("cavi", {}), ("em", {"prior": False})][: 1 if family in RIGHT else 2]
        for engine, further in engines:
            fit = model.fit(engine, seed=1, draws=10_000, n_jobs=1, **further)
            parts = ["mean", "log sigma"] if family == "sigma(x)" else ["mean"]
            found = fit.summary().loc[parts]
            found = found[found.index.get_level_values("term").isin(TERMS)]
            for referee, given in others.items():
                # OrderedModel has no intercept, and gammals a further coefficient of its scale.
                other = tuple(values[: len(found)] for values in given)
                mine = found.iloc[-len(other[0]) :]
                pair = mine["mean"].to_numpy(), mine["sd"].to_numpy()
                case = {"family": family, "components": 1, "engine": engine}
                yield {**case, "referee": referee, "rows": len(data), **compare(pair, other)}


def two_components(n, seed, families=tuple(INTERCEPTS)):
    for family in families:
        data, _ = rows_of_two(family, n, 3.0, seed)
        formula = f"{LEFT[family] if family == 'binomial' else 'y'} ~ x | 1"
        options = {"family": family, "n_components": 2, "priors": bvb.Priors(scales="fixed")}
        model = bvb.DensityRegression(formula, data, **options)
        quick = model.fit(seed=1, n_jobs=1, draws=4000)
        nuts = model.fit("nuts", seed=1, n_jobs=1, draws=2000, chains=2)
        case = {"family": family, "components": 2, "engine": f"cavi, {quick.covariance}"}
        case |= {"referee": "NUTS", "rows": n, **compare(ordered(quick), ordered(nuts))}
        yield {**case, "seed": seed}


def repeated(seeds=(1, 2), runs=range(1, 6)):
    """Standard deviations of one fit compared with runs that differ in their seed only."""
    for seed in seeds:
        data, _ = rows_of_two("negbinomial", 400, 3.0, seed)
        options = {"n_components": 2, "priors": bvb.Priors(scales="fixed")}
        model = bvb.DensityRegression("y ~ x | 1", data, family="negbinomial", **options)
        first, second = (model.fit(seed=s, n_jobs=1, draws=4000) for s in (1, 2))
        others = {"fit, seed 2": second}
        others |= {
            f"NUTS, seed {run}": model.fit("nuts", seed=run, n_jobs=1, draws=4000, chains=2)
            for run in runs
        }
        for name, other in others.items():
            yield {"seed": seed, "compared with": name, **compare(ordered(first), ordered(other))}


def zeros_of_two(family, n, seed):
    """Two components beside structural zeros."""
    data, _ = rows_of_two(family, n, 3.0, seed)
    rng = np.random.default_rng([seed, 9])
    z = rng.normal(size=n)
    y = np.where(rng.random(n) < expit(-0.4 + 0.4 * z), 0.0, data["y"])
    return data.assign(y=y, z=z)


def with_zeros(n, seed):
    for family in ("poisson", "negbinomial", "gamma", "weibull"):
        for n_components in (1, 2):
            if n_components == 2:
                data = zeros_of_two(family, n, seed)
            else:
                known = "gamma" if family == "weibull" else family
                data, _ = zeros(known, n, 3.0, np.random.default_rng(seed))
            options = {"family": family, "n_components": n_components}
            options |= {"priors": bvb.Priors(scales="fixed")}
            model = bvb.DensityRegression("y ~ x | zero(z)", data, **options)
            quick = model.fit(seed=1, n_jobs=1, draws=4000)
            if n_components == 2 and quick.covariance != "exact":
                quick = quick.with_covariance("exact")
            size = {"draws": 2000 * n_components**2, "chains": 2 * n_components}
            nuts = model.fit("nuts", seed=1, n_jobs=1, **size)
            case = {"family": family, "components": n_components, "referee": "NUTS", "rows": n}
            case |= {"engine": f"cavi, {quick.covariance}"}
            yield {**case, **compare(ordered(quick), ordered(nuts))}


def ordered(fit):
    """Means and sds of the coefficients, the components by their intercepts, then of the zeros."""
    found = fit.summary()
    mean = found.loc["mean"]
    order = mean.xs("Intercept", level="term")["mean"].sort_values().index
    parts = [mean.loc[order]] + ([found.loc["zero"]] if "zero" in found.index else [])
    both = pd.concat(parts)
    return both["mean"].to_numpy(), both["sd"].to_numpy()


def main():
    if "repeated" in sys.argv:
        warnings.simplefilter("ignore")
        keep(pd.DataFrame(list(repeated())), "referees_repeated")
        return
    if "zero" in sys.argv:
        warnings.simplefilter("ignore")
        keep(pd.DataFrame(list(with_zeros(600, 1))), "referees_zero")
        return
    warnings.simplefilter("ignore")
    if "two" in sys.argv:
        seed, families = int(sys.argv[2]), sys.argv[3:]
        keep(pd.DataFrame(list(two_components(400, seed, families))), "referees", by="seed")
        return
    n, seed = ([int(a) for a in sys.argv[1:3]] + [400, 1][len(sys.argv[1:3]) :])[:2]
    lines = [{**line, "seed": seed} for line in one_component(n, seed)]
    if importlib.util.find_spec("numpyro") is not None:
        lines += two_components(n, seed)
    keep(pd.DataFrame(lines), "referees")


if __name__ == "__main__":
    main()
