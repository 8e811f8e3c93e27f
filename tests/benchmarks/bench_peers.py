"""Fits beside those of other packages for the same question: CPU time in one run.

    python tests/benchmarks/bench_peers.py

Single-threaded CPU seconds of model and fit with default options, of this process and its children,
the median of several fits in one process for each package after one that is not counted, so that
ratios hold on any machine. ``ratio`` is the time of bayesvb over that of the package. bayesvb makes
1,000 draws and intervals besides. lme4 and mgcv fit by REML (``intervals``: profile likelihood),
flexmix and stepmix by EM from eight initialisations. NUTS is NumPyro's: 500 draws of one chain and
4,000 of four, after as many of warm-up. scikit-learn's EM ends at a gain of 0.001 nats per row, 5
nats here; ``small tol`` at 0.0005. A package that is not installed is left out with a message.
Results: docs/benchmarks/peers.csv.

============= ==================================================== ==============================
case          question                                             packages
============= ==================================================== ==============================
two experts   two regressions, weights by x, 600 rows              flexmix, NumPyro
groups        random intercept, 2,000 rows in 50 groups            lme4, statsmodels
many groups   random intercept, 20,000 rows in 5,000 groups        lme4, statsmodels
curve         smooth term, 1,000 rows                              mgcv, pyGAM
clusters      three Gaussians in two dimensions, 5,000 rows        scikit-learn (EM, variational)
diagonal      three Gaussians in four dimensions, 2,000 rows       stepmix
heteroskedastic mean and spread of y by x, 1,000 rows              ngboost
============= ==================================================== ==============================
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from bench_waits import cpu
from tables import keep

import bayesvb as bvb
from bayesvb.numerics.runtime import single_threaded_blas

REPEATS, STARTS = 5, 8

R_FITS = {
    "lme4": "lmer(y ~ x1 + (1 | g), data)",
    "lme4, intervals": "suppressMessages(confint(lmer(y ~ x1 + (1 | g), data)))",
    "mgcv": "gam(y ~ s(x1), data = data, method = 'REML')",
    "flexmix": "initFlexmix(y ~ x1, data = data, k = 2, nrep = 8, "
    "concomitant = FLXPmultinom(~ x1), verbose = FALSE)",
}
R_SCRIPT = """
arguments <- commandArgs(trailingOnly = TRUE)
suppressMessages(library(arguments[1], character.only = TRUE))
data <- read.csv(arguments[2], stringsAsFactors = TRUE)
fit <- parse(text = arguments[3])
invisible(eval(fit))
cpu <- replicate(as.integer(arguments[4]), sum(system.time(eval(fit))[1:2]))
cat(format(median(cpu), digits = 12))
"""
"""Prints median CPU time."""


def grouped(n_rows: int, n_groups: int) -> pd.DataFrame:
    """One covariate and a random intercept."""
    rng = np.random.default_rng(1)
    g, x = rng.permutation(np.arange(n_rows) % n_groups), rng.normal(size=n_rows)
    y = 1.0 + 0.5 * x + 0.7 * rng.normal(size=n_groups)[g] + rng.normal(size=n_rows)
    return pd.DataFrame({"y": y, "x1": x, "g": [f"g{k}" for k in g]})


def curved(n_rows: int) -> pd.DataFrame:
    """A sine with noise."""
    rng = np.random.default_rng(2)
    x = rng.uniform(size=n_rows)
    return pd.DataFrame({"y": np.sin(6.0 * x) + 0.5 * rng.normal(size=n_rows), "x1": x})


def two_experts(n_rows: int) -> pd.DataFrame:
    """Two lines with different noise, the switch depending on x1."""
    rng = np.random.default_rng(3)
    x, noise = rng.normal(size=(2, n_rows))
    upper = rng.random(n_rows) < 1.0 / (1.0 + np.exp(-1.5 * x))
    y = np.where(upper, 1.0 + x + 0.3 * noise, -1.0 - 0.5 * x + 0.6 * noise)
    return pd.DataFrame({"y": y, "x1": x})


def clusters(n_rows: int, dims: int) -> pd.DataFrame:
    """Three overlapping Gaussians."""
    rng = np.random.default_rng(4)
    centres = 2.0 * rng.normal(size=(3, dims))
    x = centres[rng.integers(3, size=n_rows)] + rng.normal(size=(n_rows, dims))
    return pd.DataFrame(x, columns=[f"x{i + 1}" for i in range(dims)])


def density(formula: str, n_components: int, data: pd.DataFrame) -> object:
    """A density regression."""
    return bvb.DensityRegression(formula, data, n_components=n_components).fit(seed=1)


def mixture(covariance: str, data: pd.DataFrame) -> object:
    """A Gaussian mixture of all columns."""
    formula = "~ " + " + ".join(data)
    return bvb.GaussianMixture(formula, data, n_components=3, covariance=covariance).fit(seed=1)


def mixed_lm(data: pd.DataFrame) -> object:
    import statsmodels.formula.api as smf

    return smf.mixedlm("y ~ x1", data, groups=data["g"]).fit()


def gam(data: pd.DataFrame) -> object:
    from pygam import LinearGAM, s

    return LinearGAM(s(0)).gridsearch(data[["x1"]].to_numpy(), data["y"].to_numpy(), progress=False)


def em(tol: float, data: pd.DataFrame) -> object:
    from sklearn.mixture import GaussianMixture

    found = GaussianMixture(3, tol=tol, n_init=STARTS, random_state=1, max_iter=2_000)
    return found.fit(data.to_numpy())


def variational(data: pd.DataFrame) -> object:
    from sklearn.mixture import BayesianGaussianMixture

    found = BayesianGaussianMixture(n_components=3, n_init=STARTS, random_state=1, max_iter=2_000)
    return found.fit(data.to_numpy())


def stepmix(data: pd.DataFrame) -> object:
    from stepmix import StepMix

    found = StepMix(3, measurement="gaussian_diag", n_init=STARTS, random_state=1, progress_bar=0)
    return found.fit(data)


def ngboost(data: pd.DataFrame) -> object:
    from ngboost import NGBRegressor

    return NGBRegressor(verbose=False, random_state=1).fit(data[["x1"]].to_numpy(), data["y"])


def nuts(chains: int, draws: int, data: pd.DataFrame) -> object:
    """The mixture with labels summed out, as in bayesvb; compilation counts."""
    import jax
    import numpyro
    import numpyro.distributions as dist
    from jax.scipy.special import logsumexp

    x = np.column_stack([np.ones(len(data)), data["x1"]])

    def model() -> None:
        slopes = numpyro.sample("slopes", dist.Normal(0.0, 3.0).expand([2, 2]).to_event(2))
        sigma = numpyro.sample("sigma", dist.HalfNormal(2.0).expand([2]).to_event(1))
        gate = numpyro.sample("gate", dist.Normal(0.0, 3.0).expand([2]).to_event(1))
        logits = jax.numpy.stack([jax.numpy.zeros(len(x)), x @ gate])
        each = dist.Normal(slopes @ x.T, sigma[:, None]).log_prob(data["y"].to_numpy())
        whole = logsumexp(jax.nn.log_softmax(logits, axis=0) + each, axis=0)
        numpyro.factor("rows", whole.sum())

    numpyro.enable_x64()
    chain = numpyro.infer.MCMC(
        numpyro.infer.NUTS(model), num_warmup=draws, num_samples=draws, num_chains=chains,
        chain_method="sequential", progress_bar=False,
    )  # fmt: skip
    chain.run(jax.random.PRNGKey(0))
    return chain.get_samples()


Fitter = Callable[[pd.DataFrame], object]
LINES = partial(density, "y ~ x1 + (1 | g)", 1)
CASES: dict[str, tuple[pd.DataFrame, Fitter, dict[str, Fitter | None]]] = {
    "two experts": (two_experts(600), partial(density, "y ~ x1", 2),
                    {"flexmix": None, "NUTS, 500 draws": partial(nuts, 1, 500),
                     "NUTS, 4,000 draws": partial(nuts, 4, 1_000)}),
    "groups": (grouped(2_000, 50), LINES,
               {"lme4": None, "lme4, intervals": None, "statsmodels": mixed_lm}),
    "many groups": (grouped(20_000, 5_000), LINES, {"lme4": None, "statsmodels": mixed_lm}),
    "curve": (curved(1_000), partial(density, "y ~ s(x1)", 1), {"mgcv": None, "pyGAM": gam}),
    "clusters": (clusters(5_000, 2), partial(mixture, "full"),
                 {"scikit-learn EM": partial(em, 1e-3),
                  "scikit-learn EM, small tol": partial(em, 1e-7),
                  "scikit-learn variational": variational}),
    "diagonal": (clusters(2_000, 4), partial(mixture, "diagonal"), {"stepmix": stepmix}),
    "heteroskedastic": (two_experts(1_000), partial(density, "y ~ x1 | sigma(x1)", 1),
                        {"ngboost": ngboost}),
}  # fmt: skip
"""Rows, our fit, and the fits of other packages by name: in R where there is None."""


def timed(fit: Callable[[], object], repeats: int = REPEATS) -> float:
    """Median CPU seconds of some fits after the first."""
    seconds = []
    with single_threaded_blas(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit()
        for _ in range(repeats):
            began = cpu()
            fit()
            seconds.append(cpu() - began)
    return float(np.median(seconds))


def timed_in_r(package: str, data: pd.DataFrame) -> float:
    """The same in R."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.csv"
        data.to_csv(path, index=False)
        words = [package.split(",")[0], str(path), R_FITS[package], str(REPEATS)]
        done = subprocess.run(
            ["Rscript", "-e", R_SCRIPT, *words], check=True, capture_output=True, text=True
        )
    return float(done.stdout.split()[-1])


def compared(case: str) -> pd.DataFrame:
    """One row for each package of a case."""
    data, ours, others = CASES[case]
    seconds = {"bayesvb": timed(partial(ours, data))}
    for name, fit in others.items():
        if fit is None and shutil.which("Rscript") is None:
            print(f"{name} is left out: Rscript is absent")
            continue
        try:
            slow = name.startswith("NUTS") or (name, case) == ("statsmodels", "many groups")
            once = 1 if slow else REPEATS
            seconds[name] = (
                timed_in_r(name, data) if fit is None else timed(partial(fit, data), once)
            )
        except (ImportError, subprocess.CalledProcessError) as error:
            print(f"{name} is left out: {error}")
    table = pd.DataFrame({"package": list(seconds), "seconds": list(seconds.values())})
    table.insert(0, "case", case)
    table.insert(1, "rows", len(data))
    return table.assign(ratio=seconds["bayesvb"] / table["seconds"])


def main() -> None:
    """Print and keep the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", nargs="+", default=list(CASES))
    for case in parser.parse_args().cases:
        keep(compared(case).round(4), "peers", by="case")


if __name__ == "__main__":
    main()
