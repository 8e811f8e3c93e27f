"""Networks beside penalised multinomial regression: how often the check alarms, by rule.

    python tests/benchmarks/bench_class_baseline.py [first=0] [sets=40] [design ...]

Right designs draw classes from a multinomial regression and fit a network that contains it: the
simpler model is the true one, and the network loses what its further parameters cost. Wrong ones
fit a network that cannot say what multinomial regression says: too narrow a prior, too few entries
of the latent vector, far too many experts. Rules, each at the level of ``fit.check()`` among all
tests of the fit (Bonferroni):

``any``: more than 4 nats behind, and a loss beyond doubt.
``limit``: more than 4 nats behind, and that it is more than 4 beyond doubt.
``skewed``: the same, its statistic corrected for the skewness of the differences.

Rules were chosen on seeds below 2000; results are of seeds that had no part in it, from 2000 on for
the first designs that were tried, from 3000 on for the others (``first=3000``). The differences of
all rows are kept in ``build/class_baseline``, so that a run that was stopped goes on.
Results: docs/benchmarks/class_baseline.csv.
"""

import sys
import warnings
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from scipy.stats import norm, skew
from tables import RESULTS, keep

import bayesvb as bvb
from bayesvb.evaluation.mean_tests import mean_below
from bayesvb.results.checks.accuracy import gain_over_multinomial
from bayesvb.results.checks.grading import GRADES
from bayesvb.results.class_evaluation import judged_classes
from bayesvb.results.limits import LIMITS

FIRST_SEED, DATA_SETS = 2000, 40
KEPT = RESULTS.parents[1] / "build" / "class_baseline"

Coefficients = list[list[float]]


@dataclass(frozen=True)
class Design:
    """Classes drawn by a multinomial regression on normal covariates, and a network for them."""

    coefficients: Coefficients
    n_rows: int
    right: bool = True
    options: dict[str, object] = field(default_factory=dict)
    restarts: int = 4
    intercepts: tuple[float, ...] = ()

    def draw(self, rng: np.random.Generator) -> pd.DataFrame:
        """Covariates and classes."""
        b = np.array(self.coefficients)
        x = rng.normal(size=(self.n_rows, b.shape[1]))
        shift = np.array(self.intercepts or [0.0] * len(b))
        label = (x @ b.T + shift + rng.gumbel(size=(self.n_rows, len(b)))).argmax(axis=1)
        frame = pd.DataFrame(x, columns=[f"x{i}" for i in range(b.shape[1])])
        return frame.assign(label=np.array(list("abcdef"))[label])


TWO: Coefficients = [[0.0, 0.0], [1.0, -0.5]]
THREE: Coefficients = [[0.0, 0.0], [1.0, -0.5], [-0.5, 1.0]]
FOUR: Coefficients = [[2.0, 0.0], [0.0, 2.0], [-2.0, 0.0], [0.0, -2.0]]
SIX: Coefficients = [[2.0 * np.cos(a), 2.0 * np.sin(a)] for a in np.arange(6) * np.pi / 3.0]
TEN: Coefficients = [[0.0] * 10, [0.8, -0.8] + [0.0] * 8, [0.3] * 10]
TWENTY: Coefficients = [[0.0] * 20, [1.0, -0.5] + [0.1] * 18]
WEAK: Coefficients = [[0.0, 0.0], [0.2, -0.1], [-0.1, 0.2]]
NARROW = {"priors": bvb.NetworkPriors(coefficient_variance=1e-3, output_variance=0.1)}

DESIGNS = {
    "two classes, N 200": Design(TWO, 200, options={"n_experts": 2}),
    "three classes, N 100": Design(THREE, 100, options={"n_experts": 2}),
    "three classes, N 200": Design(THREE, 200, options={"n_experts": 2}),
    "three classes, N 400, K 3": Design(THREE, 400, options={"n_experts": 3}),
    "four classes, N 200": Design(FOUR, 200, options={"n_experts": 2}),
    "noise, three classes, N 200": Design([[0.0] * 2] * 3, 200, options={"n_experts": 2}),
    "narrow prior, N 200": Design(THREE, 200, False, {"n_experts": 2, **NARROW}),
    "one latent entry, four classes, N 200": Design(
        FOUR, 200, False, {"n_experts": 1, "latent_dim": 1}
    ),
    "twenty experts, one start, N 100": Design(
        [[0.0] * 6, [0.5] * 6, [-0.5] * 6], 100, False, {"n_experts": 20}, 1
    ),
    "two classes, one rare, N 300": Design(
        TWO, 300, options={"n_experts": 2}, intercepts=(0.0, -3.0)
    ),
    "three classes, one rare, N 200": Design(
        THREE, 200, options={"n_experts": 2}, intercepts=(0.0, 0.0, -3.0)
    ),
    "ten covariates, three classes, N 150": Design(TEN, 150, options={"n_experts": 2}),
    "twenty covariates, two classes, N 200": Design(TWENTY, 200, options={"n_experts": 2}),
    "three classes, N 50": Design(THREE, 50, options={"n_experts": 2}),
    "weak signal, three classes, N 200": Design(WEAK, 200, options={"n_experts": 2}),
    "five classes, N 250": Design(SIX[:5], 250, options={"n_experts": 2}),
    "six classes, N 300, K 3": Design(SIX, 300, options={"n_experts": 3}),
    "narrow prior, ten covariates, N 150": Design(TEN, 150, False, {"n_experts": 2, **NARROW}),
    "narrow prior, one class rare, N 200": Design(
        THREE, 200, False, {"n_experts": 2, **NARROW}, intercepts=(0.0, 0.0, -3.0)
    ),
    "one latent entry, six classes, N 300": Design(
        SIX, 300, False, {"n_experts": 1, "latent_dim": 1}
    ),
}


def gains(name: str, seed: int) -> np.ndarray:
    """Nats by which the network is ahead in each row that was left out."""
    design, path = DESIGNS[name], KEPT / f"{name}, {seed}.npy"
    if not path.exists():
        data = design.draw(np.random.default_rng([seed, design.n_rows]))
        model = bvb.ConditionalMixtureNetwork("label ~ .", data, **design.options)
        fit = model.fit(seed=seed, restarts=design.restarts, draws=200)
        np.save(path, gain_over_multinomial(judged_classes(fit)))
    return np.load(path)


def p_values(gain: np.ndarray) -> dict[str, float]:
    """Of every rule, before it is adjusted for other tests."""
    total, error = gain.sum(), gain.std(ddof=1) * np.sqrt(len(gain))
    behind = total < -LIMITS.equal_elpd
    each = {
        "any": norm.cdf(total / error),
        "limit": norm.cdf((total + LIMITS.equal_elpd) / error),
        "skewed": mean_below(gain, -LIMITS.equal_elpd / len(gain)),
    }
    return {rule: float(p) if behind else 1.0 for rule, p in each.items()}


def record(name: str, seeds: range, n_tests: int) -> dict[str, object]:
    """Shares of data sets with an alarm."""
    every = [gains(name, seed) for seed in seeds]
    total = np.array([one.sum() for one in every])
    alarms = pd.DataFrame([p_values(one) for one in every]) < GRADES["p-value"].problem / n_tests
    return {
        "kind": "right" if DESIGNS[name].right else "wrong",
        "design": name,
        "data sets": len(every),
        "nats gained": total.mean(),
        "sd": total.std(ddof=1),
        "skewness of rows": np.mean([skew(one) for one in every]),
        **alarms.mean(),
    }


def main() -> None:
    """One row per design, kept if no rule was chosen on these seeds."""
    asked = dict(one.split("=") for one in sys.argv[1:] if "=" in one)
    first, sets = int(asked.get("first", FIRST_SEED)), int(asked.get("sets", DATA_SETS))
    names = [one for one in sys.argv[1:] if "=" not in one] or list(DESIGNS)
    KEPT.mkdir(parents=True, exist_ok=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names:
            table = pd.DataFrame([record(name, range(first, first + sets), N_TESTS)])
            if first >= FIRST_SEED:
                keep(table, "class_baseline", by="design")
            else:
                print(table.to_string(index=False), flush=True)


N_TESTS = 3
"""Tests of a fit of a network for classes: reliability, order of the rows, and this one."""


if __name__ == "__main__":
    main()
