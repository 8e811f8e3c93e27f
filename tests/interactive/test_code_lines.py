"""Printed lines of code, run in a fresh process, give the numbers of the fit that is seen."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from bayesvb.estimators import MODELS
from bayesvb.experts import EXPERTS
from bayesvb.gates import GATES
from bayesvb.interactive.fitting import _fit
from bayesvb.interactive.reading import read
from bayesvb.interactive.request import Request
from bayesvb.interactive.tables import file_table
from bayesvb.interactive.tasks import FitTask

RNG = np.random.default_rng(5)
ROWS = pd.DataFrame({"x": RNG.normal(size=48), "w": RNG.integers(1, 3, size=48)})
ROWS["y"] = ROWS["x"] + RNG.normal(size=48)
ROWS["z"] = np.where(np.arange(48) % 11 == 0, np.nan, RNG.normal(size=48))
ROWS["positive"] = np.exp(ROWS["y"])
ROWS["count"] = RNG.poisson(np.exp(0.5 * ROWS["x"]))
ROWS["zeros"] = np.where(ROWS["x"] < -0.5, 0.0, ROWS["positive"])
ROWS["share"] = 1.0 / (1.0 + ROWS["positive"])
ROWS["event"] = RNG.integers(0, 2, size=48)
ROWS["rating"] = RNG.integers(1, 4, size=48)
ROWS["kind"] = RNG.choice(list("abc"), size=48)

RESPONSES = (
    "y", "positive", "zeros", "share", "count", "event", "rating", "cbind(count, 12 - count)",
    "Surv(positive, event)",
)  # fmt: skip
"""Responses, of which each family can have one at least."""


def of_family(family, **options):
    """A request with a response that the family can have."""
    options = {"family": family, **options}
    requests = [Request(formula=f"{response} ~ x", options=options) for response in RESPONSES]
    return next(request for request in requests if read(request, ROWS).readable)


CASES = [
    *[of_family(family, n_components=1) for family in EXPERTS],
    *[of_family(family, n_components=2) for family in ("student", "poisson")],
    *[Request(formula="y ~ x | gating(x)", options={"gate": gate, "n_components": 2}, seed=3)
      for gate in GATES],
    Request(formula="log(positive) ~ s(x, k=5) + z | sigma(x)",
            options={"n_components": 1, "weights": "w", "weight_type": "sampling"}),
    Request(formula="y ~ z", options={"n_components": 1, "missing": "impute"}),
    Request(formula="y ~ x", options={"n_components": 2}, priors={"scales": "fixed"}),
    Request(formula="y ~ x", model="ConditionalMixtureNetwork",
            options={"n_experts": 2, "latent_dim": 1, "latent_covariance": "diagonal"}),
    Request(formula="kind ~ x", model="ConditionalMixtureNetwork",
            options={"n_experts": 2, "latent_posterior": "mean-field"}),
    Request(formula="~ x + y", model="GaussianMixture",
            options={"n_components": 2, "covariance": "diagonal"}),
    Request(formula="~ x + y + z", model="BayesianPCA", options={"scale": True}),
    Request(formula="y ~ 1", model="Normal", priors={"noise_rate": 0.1}),
]  # fmt: skip

RUN = """
import json, sys, warnings
warnings.simplefilter("ignore")
for lines in json.load(sys.stdin):
    scope = {}
    exec(lines, scope)
    fit = scope["fit"]
    print(json.dumps([fit.elbo, fit.summary().select_dtypes("number").to_numpy().tolist()]))
"""


def test_all_models_families_and_gates_are_tried():
    given = [{**request.options, "model": request.model} for request in CASES]
    assert {values["model"] for values in given} == set(MODELS)
    assert {values.get("family") for values in given} >= set(EXPERTS)
    assert {values.get("gate") for values in given} >= set(GATES)


@pytest.mark.heavy
def test_every_printed_line_gives_the_numbers_seen_in_a_fresh_process(tmp_path):
    path = tmp_path / "rows.csv"
    ROWS.to_csv(path, index=False)
    table = file_table(path, str(path))
    lines = json.dumps([request.python(table.python) for request in CASES])
    done = subprocess.run(
        [sys.executable, "-c", RUN], input=lines, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    numbers = [json.loads(line) for line in done.stdout.splitlines()]
    for request, (elbo, values) in zip(CASES, numbers, strict=True):
        fit = _fit(FitTask(request=request, frame=table.frame, path=tmp_path / "none.nc"), print)
        seen = fit.summary().select_dtypes("number").to_numpy()
        assert elbo == fit.elbo, request
        np.testing.assert_array_equal(values, seen, err_msg=str(request))
