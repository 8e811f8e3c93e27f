"""`(x | g)` of two components: effects common to them with a full covariance, or independent ones.

    python tests/benchmarks/bench_common_covariance.py [sets]

Twelve groups of 15 rows, sds 0.8 and 0.4 of intercepts and slopes, correlations 0.4 and 0.8. One
chain of 1,000 draws of each model by NUTS, and bayesvb, whose common effects are independent:
log density of 180 new rows of the same groups, slopes of both components, and the correlation of
the effects. Needs NumPyro. Writes docs/benchmarks/common_covariance.csv.
"""

import importlib.util
import sys
import warnings

import numpy as np
import pandas as pd
from tables import keep

import bayesvb as bvb

if importlib.util.find_spec("numpyro") is None:
    print("NumPyro is not installed: pip install bayesvb[mcmc]")
    sys.exit()

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from jax.scipy.special import logsumexp
from numpyro.infer import MCMC, NUTS, init_to_value

GROUPS, ROWS, SDS = 12, 15, np.array([0.8, 0.4])
LINES, NOISE = np.array([[-1.5, 0.2], [1.5, 0.8]]), np.array([0.5, 0.8])


def simulate(seed, correlation):
    """Rows, half of each group for the fit, and the effects."""
    rng, n = np.random.default_rng(seed), 2 * GROUPS * ROWS
    g = np.repeat(np.arange(GROUPS), 2 * ROWS)
    x = rng.normal(size=n)
    k = (rng.random(n) < 0.5).astype(int)
    root = np.linalg.cholesky(np.outer(SDS, SDS) * np.array([[1, correlation], [correlation, 1]]))
    u = rng.normal(size=(GROUPS, 2)) @ root.T
    lines = LINES[k] + u[g]
    y = lines[:, 0] + lines[:, 1] * x + NOISE[k] * rng.normal(size=n)
    fitted = np.tile(np.arange(2 * ROWS) < ROWS, GROUPS)
    return pd.DataFrame({"y": y, "x": x, "g": g, "fitted": fitted}), u


def log_density(at, x, g, y):
    """Of each row, given intercepts, slopes, effects by component, noise and weights."""
    mean = at["b0"][:, None] + at["b1"][:, None] * x + at["u"][:, g, 0] + at["u"][:, g, 1] * x
    return logsumexp(
        jnp.log(at["w"])[:, None] + dist.Normal(mean, at["sg"][:, None]).log_prob(y), axis=0
    )


def model(x, g, y, *, full):
    at = {name: numpyro.sample(name, dist.Normal(0, 5).expand([2])) for name in ("b0", "b1")}
    sd = numpyro.sample("sd", dist.HalfNormal(y.std()).expand([2]))
    common = numpyro.sample("z", dist.Normal().expand([GROUPS, 2]))
    if full:
        common = common @ numpyro.sample("root", dist.LKJCholesky(2, 1.0)).T
    apart = numpyro.sample("apart", dist.Normal().expand([2, GROUPS, 2]))
    spread = numpyro.sample("spread", dist.HalfNormal(1.0).expand([2]))
    at["u"] = numpyro.deterministic("u", common * sd + apart * spread)
    at["sg"] = numpyro.sample("sg", dist.HalfNormal(2.0).expand([2]))
    at["w"] = numpyro.sample("w", dist.Dirichlet(jnp.ones(2)))
    numpyro.factor("rows", log_density(at, x, g, y).sum())


def by_nuts(seed, fitted, new, *, full):
    start = {"b0": jnp.array([-1.5, 1.5]), "b1": jnp.array([0.3, 0.7])}
    start["sg"] = jnp.array([0.6, 0.7])
    kernel = NUTS(model, init_strategy=init_to_value(values=start), target_accept_prob=0.9)
    chain = MCMC(kernel, num_warmup=500, num_samples=1000, progress_bar=False)
    chain.run(jax.random.PRNGKey(seed), *fitted, full=full)
    draws = chain.get_samples()
    each = jax.vmap(log_density, (0, None, None, None))(draws, *new)
    score = np.asarray(logsumexp(each, axis=0)) - np.log(len(each))
    mean = np.asarray(draws["u"].mean(axis=1))
    correlation = np.median([np.corrcoef(one.T)[0, 1] for one in mean])
    return score, np.sort(draws["b1"].mean(axis=0)), correlation


def lines(sets):
    for correlation in (0.4, 0.8):
        for seed in range(sets):
            data, u = simulate(seed, correlation)
            rows = data[data["fitted"]], data[~data["fitted"]]
            fitted, new = (tuple(one[name].to_numpy() for name in "xgy") for one in rows)
            found = {full: by_nuts(seed, fitted, new, full=full) for full in (False, True)}
            gain = found[True][0] - found[False][0]
            fit = bvb.DensityRegression("y ~ x + (x | g) | 1", rows[0], n_components=2).fit(seed=1)
            row = {"correlation": correlation, "set": seed + 1, "of groups": np.corrcoef(u.T)[0, 1]}
            row |= {"independent": found[False][2], "full": found[True][2]}
            row |= {"gain": gain.mean(), "se": gain.std() / len(gain) ** 0.5}
            row |= {"bayesvb": (fit.log_density(rows[1]) - found[False][0]).mean()}
            shift = np.abs(found[True][1] - found[False][1]).max()
            yield {**row, "largest change of a slope": shift}


def main():
    warnings.simplefilter("ignore")
    numpyro.enable_x64()
    sets = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    keep(pd.DataFrame(list(lines(sets))).round(3), "common_covariance")


if __name__ == "__main__":
    main()
