"""Rows from two experts, and their posterior by sampling: writes rows.csv, checks posterior.json.

    python tests/reference/two_experts/make.py            # rows.csv; needs numpy only
    python tests/reference/two_experts/make.py sample     # the posterior beside the file; numpyro

Sampling takes a minute or two. Its numbers differ between versions of numpyro by simulation error,
so that they are printed beside those of the file, as multiples of the standard deviation, and
written only by hand. The `variational` values of the file come from an implementation that shares
no code with this package; see README.md.
"""

import json
import sys
from pathlib import Path

import numpy as np

SEED = 3
N_ROWS = 600
WARM_UP, KEPT = 1000, 4000
HERE = Path(__file__).parent


def rows():
    """Covariate and response, drawn in this order: x, who answers, noise of 1, noise of 2."""
    rng = np.random.default_rng(SEED)
    x = rng.uniform(-2.0, 2.0, N_ROWS)
    first = rng.uniform(size=N_ROWS) < 1.0 / (1.0 + np.exp(-(0.3 + x)))
    one = 1.0 + 1.5 * x + 0.5 * rng.normal(size=N_ROWS)
    other = -1.0 - x + 0.8 * rng.normal(size=N_ROWS)
    return x, np.where(first, one, other)


def write_rows(path):
    lines = [f"{x:.17g},{y:.17g}" for x, y in zip(*rows(), strict=True)]
    path.write_text("\n".join(["x,y", *lines]) + "\n", encoding="utf-8")


def mixture(gate, x, y):
    """The joint density, the experts summed out of it; nothing is standardised."""
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist
    from jax.scipy.special import logsumexp

    terms = jnp.stack([jnp.ones_like(x), x])
    precision = numpyro.sample("precision", dist.Gamma(1.0, 1.0).expand([2]).to_event(1))
    spread = 1.0 / jnp.sqrt(0.01 * precision)[:, None] * jnp.ones((2, 2))
    beta = numpyro.sample("coefficients", dist.Normal(0.0, spread).to_event(2))
    n_vectors = {"softmax": 2, "stick-breaking": 1}[gate]
    gamma = numpyro.sample("gamma", dist.Normal(0.0, 1.0).expand([n_vectors, 2]).to_event(2))
    log_odds = (gamma[0] - gamma[1] if gate == "softmax" else gamma[0]) @ terms
    log_weights = -jnp.logaddexp(0.0, jnp.stack([-log_odds, log_odds]))
    each = dist.Normal(beta @ terms, precision[:, None] ** -0.5).log_prob(y)
    numpyro.factor("rows", logsumexp(log_weights + each, axis=0).sum())


def sampled(gate):
    """Posterior means and standard deviations, by one chain that starts at the truth."""
    import jax
    from numpyro.infer import MCMC, NUTS, init_to_value

    x, y = rows()
    truth = {
        "coefficients": np.array([[1.0, 1.5], [-1.0, -1.0]]),
        "precision": np.array([0.5, 0.8]) ** -2.0,
        "gamma": np.array([[0.15, 0.5], [-0.15, -0.5]]) if gate == "softmax" else [[0.3, 1.0]],
    }
    values = {name: np.asarray(value) for name, value in truth.items()}
    kernel = NUTS(lambda: mixture(gate, x, y), init_strategy=init_to_value(values=values))
    chain = MCMC(kernel, num_warmup=WARM_UP, num_samples=KEPT, progress_bar=False)
    chain.run(jax.random.PRNGKey(SEED))
    draws = {name: np.asarray(value) for name, value in chain.get_samples().items()}
    gamma = draws["gamma"]
    found = {
        "coefficients": draws["coefficients"],
        "gate": gamma[:, 0] - gamma[:, 1] if gate == "softmax" else gamma[:, 0],
        "sigma": draws["precision"] ** -0.5,
    }
    return {name: (one.mean(axis=0), one.std(axis=0)) for name, one in found.items()}


def compare():
    import jax
    import numpyro

    jax.config.update("jax_enable_x64", True)
    print(f"numpyro {numpyro.__version__}, jax {jax.__version__}, numpy {np.__version__}")
    kept = json.loads((HERE / "posterior.json").read_text(encoding="utf-8"))
    for gate in ("softmax", "stick-breaking"):
        known = kept[gate]["nuts"]
        for name, (mean, sd) in sampled(gate).items():
            off = (mean - known[name]) / known[f"{name}_sd"]
            wider = sd / known[f"{name}_sd"]
            print(gate, name, mean.round(4).tolist(), sd.round(4).tolist())
            print(f"  means off by {np.abs(off).max():.3f} sd; sd times {wider.round(3).tolist()}")


if __name__ == "__main__":
    if sys.argv[1:] == ["sample"]:
        compare()
    else:
        write_rows(HERE / "rows.csv")
