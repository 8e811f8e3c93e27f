"""Stan programs: their text, run line by line in Python, has the log joint density of the model."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, gammaln, log_ndtr, log_softmax, logsumexp
from scipy.stats import binom, gamma, lognorm, norm, poisson, weibull_min

import bayesvb as bvb
from bayesvb.errors import DataError

RNG = np.random.default_rng(5)
DATA = pd.DataFrame({"x": RNG.normal(size=25), "g": RNG.choice(list("ab"), 25)})
DATA["y"] = DATA["x"] + RNG.normal(size=25)
DATA["b"] = (DATA["y"] > 0.0).astype(int)
DATA["c"] = RNG.poisson(2.0, 25)
pytestmark = pytest.mark.filterwarnings("ignore::bayesvb.errors.ConvergenceWarning")
DATA["n"] = DATA["c"] + RNG.integers(1, 5, 25)
DATA["t"] = np.exp(DATA["y"])
DATA["seen"] = np.arange(25) % 3 > 0
DATA["level"] = np.arange(25) % 4
DATA["w"] = RNG.integers(1, 4, 25).astype(float)
FIXED = bvb.Priors(scales="fixed", noise_shape=2.0, noise_rate=1.5, coefficient_sd=3.0)
FEW = {"seed": 1, "restarts": 1, "max_iter": 10, "draws": 25, "combine": "best"}


class FromOne:
    """An array whose first index is 1."""

    def __init__(self, values):
        self.values = np.asarray(values, dtype=float)

    def __getitem__(self, at):
        found = self.values[tuple(np.atleast_1d(at) - 1)]
        return FromOne(found) if np.ndim(found) else float(found)

    def __setitem__(self, at, value):
        self.values[tuple(np.atleast_1d(at) - 1)] = value


def ordered(log_cdf):
    """Log probability of a level between two thresholds, from the smaller tail."""

    def log_mass(level, predictor, thresholds):
        ends = np.concatenate([[-np.inf], thresholds.values, [np.inf]]) - predictor
        low, high = ends[int(level) - 1 : int(level) + 1]
        if low > 0.0:
            low, high = -high, -low
        return log_cdf(high) + np.log1p(-np.exp(log_cdf(low) - log_cdf(high)))

    return log_mass


def counts(y, log_mean, rho):
    """Log probability of a count with this mean and dispersion."""
    v = log_mean - np.log(rho)
    ways = gammaln(y + rho) - gammaln(rho) - gammaln(y + 1.0)
    return ways - y * np.logaddexp(0.0, -v) - rho * np.logaddexp(0.0, v)


FUNCTIONS = {
    "normal_lpdf": norm.logpdf,
    "lognormal_lpdf": lambda x, mean, sd: lognorm.logpdf(x, sd, scale=np.exp(mean)),
    "gamma_lpdf": lambda x, shape, rate: gamma.logpdf(x, shape, scale=1.0 / rate),
    "weibull_lpdf": lambda x, shape, scale: weibull_min.logpdf(x, shape, scale=scale),
    "weibull_lccdf": lambda x, shape, scale: weibull_min.logsf(x, shape, scale=scale),
    "bernoulli_logit_lpmf": lambda y, logit: np.log(expit(logit if y else -logit)),
    "binomial_logit_lpmf": lambda y, n, logit: binom.logpmf(y, n, expit(logit)),
    "poisson_log_lpmf": lambda y, log_mean: poisson.logpmf(y, np.exp(log_mean)),
    "neg_binomial_2_log_lpmf": counts,
    "ordered_logistic_lpmf": ordered(lambda v: -np.logaddexp(0.0, -v)),
    "ordered_probit_lpmf": ordered(log_ndtr),
    "dot_product": lambda a, b: float(a.values @ b.values),
    "rep_vector": lambda value, n: FromOne(np.full(n, value)),
    "log_softmax": lambda a: FromOne(log_softmax(a.values)),
    "log_sum_exp": lambda a: logsumexp(a.values),
    "zeros": lambda *shape: FromOne(np.zeros(shape)),
    "sqrt": np.sqrt,
    "exp": np.exp,
}


def target_of(program, data, parameters):
    """Log density of a program in the small part of Stan's language that ours are written in."""
    body, depth, lines = program.split("model {\n")[1], 0, []
    for line in body.splitlines():
        text = line.strip()
        loop = re.fullmatch(r"for \((\w) in 1:(\w)\) \{", text)
        if text == "}":
            depth -= 1
            continue
        if loop:
            text = f"for {loop[1]} in range(1, {loop[2]} + 1):"
        text = re.sub(r"^vector\[\w\] ", "", text).replace(" | ", ", ").rstrip(";")
        text = re.sub(r"^array\[(\w)\] vector\[(.*)\] (\w+)$", r"\3 = zeros(\1, \2)", text)
        lines.append("    " * depth + text)
        depth += bool(loop)
    names = {name: FromOne(v) if np.ndim(v) else v for name, v in {**data, **parameters}.items()}
    names |= FUNCTIONS | {"target": 0.0}
    exec("\n".join(lines), names)
    return names["target"]


@pytest.mark.parametrize(
    ("formula", "options"),
    [
        ("y ~ x + g", {"n_components": 1}),
        ("y ~ x * g | x", {"n_components": 2, "priors": FIXED, "weights": "w"}),
        ("b ~ x", {"n_components": 1, "family": "bernoulli", "weights": "w"}),
        ("c ~ x | g", {"n_components": 2, "family": "poisson", "priors": FIXED}),
        ("c | trials(n) ~ x | x", {"n_components": 2, "family": "binomial", "priors": FIXED}),
        ("c ~ x", {"n_components": 1, "family": "negbinomial", "weights": "w"}),
        pytest.param(
            *("c ~ x | g", {"n_components": 2, "family": "negbinomial", "priors": FIXED}),
            marks=pytest.mark.heavy,
        ),
        ("t ~ x", {"n_components": 1, "family": "gamma"}),
        pytest.param(
            *("t ~ x | x", {"n_components": 2, "family": "gamma", "priors": FIXED}),
            marks=pytest.mark.heavy,
        ),
        ("Surv(t, seen) ~ x + g", {"n_components": 1, "family": "weibull"}),
        pytest.param(
            *("t ~ x | x", {"n_components": 2, "family": "weibull", "priors": FIXED}),
            marks=pytest.mark.heavy,
        ),
        ("level ~ x", {"n_components": 1, "family": "ordinal"}),
        ("level ~ x", {"n_components": 1, "family": "ordinal-probit"}),
    ],
)
def test_the_text_has_the_log_joint_density(formula, options, tmp_path):
    model = bvb.DensityRegression(formula, DATA, **options)
    fit = model.fit(**FEW)
    files = fit.to_stan(tmp_path / "new")
    data = json.loads(files["model.data.json"].read_text())
    draws = model.prior_draws(3, seed=2)
    expected = model.log_joint(draws)
    for s in range(3):
        point = {"coefficients": draws["coefficients"][s, :, 0]}
        if "precision" in draws:
            point["precision"] = draws["precision"][s, :, 0]
        point |= {name: draws[name][s] for name in ("dispersion", "shape", "increments", "gate")
                  if name in draws}  # fmt: skip
        found = target_of(files["model.stan"].read_text(), data, point)
        assert found == pytest.approx(expected[s], rel=1e-9)
    summary = json.loads(files["model.summary.json"].read_text())
    at = summary["names"].index("coefficients[1,2]")
    assert summary["mean"][at] == pytest.approx(fit.draws["coefficients"][:, 0, 0, 1].mean())


@pytest.mark.parametrize(
    ("formula", "options", "why"),
    [
        ("y ~ x", {"n_components": 2}, r"learned scales(.|\n)*scales='fixed'"),
        ("y ~ s(x, k=4)", {"n_components": 1}, r"learned scales(.|\n)*fit\('nuts'\)"),
        ("y ~ x", {"n_components": 1, "family": "student"}, "programs are of family="),
        ("y ~ x", {"n_components": 2, "priors": FIXED, "gate": "dirichlet"}, "gate='dirichlet'"),
        ("c ~ x + offset(x)", {"n_components": 1, "family": "poisson"}, "offsets"),
    ],
)
def test_what_has_no_program_is_named(formula, options, why, tmp_path):
    fit = bvb.DensityRegression(formula, DATA, **options).fit(**FEW)
    with pytest.raises(DataError, match=why):
        fit.to_stan(tmp_path)
