"""Falls of the ELBO in 200 random problems of each family.

    python tests/benchmarks/bench_bounds.py [problems] [family ...]

8 to 150 rows, one to four components, one of four gates, standard or vague priors, responses of a
random predictor with coefficients up to 3; formulas with factors, smooth curves, groups, offsets,
weights, and the parts of the family. Runs of at most 15 iterations from random responsibilities,
with and without acceleration. A fall is a decrease by more than 1e-9 of the ELBO. Writes
docs/benchmarks/bounds.csv: number of problems, iterations, and falls, and the largest decrease
relative to the ELBO.
"""

import sys
import warnings

import numpy as np
import pandas as pd
from scipy.special import expit
from tables import keep

import bayesvb as bvb
from bayesvb.engines.cavi import cavi

LARGEST = 1e-9
TERMS = ("x", "x + z", "x * f", "s(x, k=5) + z", "x + (1 | g)", "x + offset(e)")
GATES = ("1", "gating(z)", "gating(x + z)", "gating(s(z, k=4))")
PRIORS = ({}, {"scales": "fixed"}, {"scales": "fixed", "coefficient_sd": 100.0})
FAMILIES = {
    "gaussian": ("v", ""),
    "gaussian, sigma": ("v", " | sigma(x)"),
    "gaussian, censored": ("cens(v, seen)", ""),
    "student": ("v", ""),
    "student, rounded": ("rounded(v, 0.5)", ""),
    "bernoulli": ("b", ""),
    "binomial": ("k | trials(9)", ""),
    "poisson": ("c", ""),
    "poisson, zeros": ("c", " | zero(z)"),
    "negbinomial": ("c", ""),
    "negbinomial, zeros": ("c", " | zero(x)"),
    "gamma": ("a", ""),
    "gamma, zeros": ("h", " | zero(z)"),
    "weibull": ("Surv(a, event)", ""),
    "weibull, zeros": ("h", " | zero(z)"),
    "ordinal": ("o", ""),
    "ordinal-probit": ("o", ""),
    "sequential": ("o", ""),
}
"""Left side and further part of the formula."""
ONE_COMPONENT = {"bernoulli", "ordinal", "ordinal-probit", "sequential"}


def rows_of(n, rng):
    """A table with responses of all kinds."""
    x, z, e = rng.normal(size=(3, n))
    u = rng.uniform(-3.0, 3.0, 3) @ np.stack([np.ones(n), x, z]) * rng.uniform(0.1, 1.0)
    mean = np.exp(np.clip(u, -6.0, 6.0)) * rng.gamma(2.0, 0.5, n)
    noise = rng.standard_t(3, n)
    group = rng.integers(0, 5, n).astype(str)
    data = pd.DataFrame({"x": x, "z": z, "e": 0.3 * e, "g": group, "v": u + noise})
    amounts = mean * rng.weibull(1.5, n) + 1e-12
    return data.assign(
        f=rng.choice(["a", "b"], n),
        w=rng.integers(1, 4, n).astype(float),
        seen=rng.choice(["none", "none", "right", "left"], n),
        b=(rng.random(n) < expit(u)).astype(float),
        k=rng.binomial(9, expit(u)),
        c=rng.poisson(mean),
        a=amounts,
        h=np.where(rng.random(n) < 0.3, 0.0, amounts),
        event=rng.integers(0, 2, n),
        o=1.0 + np.digitize(u + noise, [-1.0, 0.5, 2.0]),
    )


def problem(family, seed):
    """Model and sums of the start of a random problem."""
    rng = np.random.default_rng([seed, *family.encode()])
    data = rows_of(int(rng.integers(8, 151)), rng)
    left, part = FAMILIES[family]
    n_components = 1 if family in ONE_COMPONENT else int(rng.integers(1, 5))
    law = family.split(",")[0]
    terms = [one for one in TERMS if "offset" not in one or law not in ("ordinal", "sequential")]
    formula = f"{left} ~ {rng.choice(terms)} | {rng.choice(GATES)}{part}"
    options = {"weights": "w"} if rng.random() < 0.3 and law != "student" else {}
    gate = rng.choice(["softmax", "stick-breaking"])
    priors = bvb.Priors(**PRIORS[rng.integers(len(PRIORS))])
    model = bvb.DensityRegression(
        formula, data, family=law, n_components=n_components, gate=gate, priors=priors, **options
    )
    share = rng.dirichlet(np.full(n_components, 0.3), model.source.n_rows).T.copy()
    core = model.core
    return model, core.first_stats(core.partition_stats(model.source.whole(), share))


def falls(family, problems):
    """Iterations, falls and the largest relative decrease of one family; errors by their kind."""
    found, reasons = np.zeros(3), {}
    for seed in range(problems):
        try:
            model, start = problem(family, seed)
        except bvb.errors.BayesVBError as error:  # a table that the family cannot describe
            reasons[str(error)[:60]] = reasons.get(str(error)[:60], 0) + 1
            continue
        for accelerate in (False, True):
            trace = cavi(model.core, model.source, start, max_iter=15, accelerate=accelerate).trace
            drop = -np.diff(trace) / np.abs(trace[1:])
            found += len(drop), (drop > LARGEST).sum(), 0.0
            found[2] = max(found[2], drop.max(initial=0.0))
            if (drop > LARGEST).any():
                print(family, seed, model.formula, model.n_components, drop.max(), flush=True)
    print(family, found, reasons, flush=True)
    done = problems - sum(reasons.values())
    return {"family": family, "problems": done, "iterations": int(found[0])} | {
        "falls": int(found[1]), "largest decrease": found[2]
    }  # fmt: skip


def main():
    warnings.simplefilter("ignore")
    problems = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    lines = [falls(family, problems) for family in sys.argv[2:] or FAMILIES]
    keep(pd.DataFrame(lines), "bounds", by="family")


if __name__ == "__main__":
    main()
