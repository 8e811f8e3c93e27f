"""Stan programs: their text, run line by line in Python, has the log joint density of the model."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, log_softmax, logsumexp
from scipy.stats import gamma, norm, poisson

import bayesvb as bvb
from bayesvb.errors import DataError

RNG = np.random.default_rng(5)
DATA = pd.DataFrame({"x": RNG.normal(size=25), "g": RNG.choice(list("ab"), 25)})
DATA["y"] = DATA["x"] + RNG.normal(size=25)
DATA["b"] = (DATA["y"] > 0.0).astype(int)
DATA["c"] = RNG.poisson(2.0, 25)
pytestmark = pytest.mark.filterwarnings("ignore::bayesvb.errors.ConvergenceWarning")
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
        self.values[at - 1] = value


FUNCTIONS = {
    "normal_lpdf": norm.logpdf,
    "gamma_lpdf": lambda x, shape, rate: gamma.logpdf(x, shape, scale=1.0 / rate),
    "bernoulli_logit_lpmf": lambda y, logit: np.log(expit(logit if y else -logit)),
    "poisson_log_lpmf": lambda y, log_mean: poisson.logpmf(y, np.exp(log_mean)),
    "dot_product": lambda a, b: float(a.values @ b.values),
    "rep_vector": lambda value, n: FromOne(np.full(n, value)),
    "log_softmax": lambda a: FromOne(log_softmax(a.values)),
    "log_sum_exp": lambda a: logsumexp(a.values),
    "sqrt": np.sqrt,
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
        point["gate"] = draws["gate"][s]
        found = target_of(files["model.stan"].read_text(), data, point)
        assert found == pytest.approx(expected[s], rel=1e-9)
    summary = json.loads(files["model.summary.json"].read_text())
    at = summary["names"].index("coefficients[1,2]")
    assert summary["mean"][at] == pytest.approx(fit.draws["coefficients"][:, 0, 0, 1].mean())


@pytest.mark.parametrize(
    ("formula", "options", "why"),
    [
        ("y ~ x", {"n_components": 2}, "learned scales"),
        ("y ~ s(x, k=4)", {"n_components": 1}, "learned scales"),
        ("y ~ x", {"n_components": 1, "family": "student"}, "programs are of family="),
        ("y ~ x", {"n_components": 2, "priors": FIXED, "gate": "dirichlet"}, "gate='dirichlet'"),
        ("c ~ x + offset(x)", {"n_components": 1, "family": "poisson"}, "offsets"),
    ],
)
def test_what_has_no_program_is_named(formula, options, why, tmp_path):
    fit = bvb.DensityRegression(formula, DATA, **options).fit(**FEW)
    with pytest.raises(DataError, match=why):
        fit.to_stan(tmp_path)
