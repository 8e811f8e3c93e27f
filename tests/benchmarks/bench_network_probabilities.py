"""Class probabilities of networks: our integral against two closed forms.

    python tests/benchmarks/bench_network_probabilities.py

One start with the default prior on 200 rows of a pinwheel (10 experts, 2000 test rows) and on 100
rows of iris (3 experts, the other 50), five seeds each. The integral over q has 256 points; with
16384 points (``fine``) it stands for the truth, from which differences are taken. ``moments``: the
logits of an expert as independent Gaussians, with a probit-like formula for each. ``bound``: the
exponential of the lower bound of each class, normalised. Weights of the gate are alike in all.
Results: docs/benchmarks/network_probabilities.csv.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
from scipy.special import expit
from tables import keep

import bayesvb as bvb
from bayesvb.data.blocks import Block
from bayesvb.models.network.model import Network
from bayesvb.models.network.shared_products import PairedProducts
from bayesvb.models.network.state import NetworkPosterior

SEEDS = 5
FINE = 2**14


def moments(model: Network, posterior: NetworkPosterior, block: Block) -> np.ndarray:
    """Logits with their mean and variance, ``E sigma(psi) = sigma(m / sqrt(1 + pi v / 8))``."""
    latents, output = model.latents(posterior, block), posterior.output
    variance = latents.scale**2 * (latents.dof / (latents.dof - 2.0))[:, None]
    vectors = np.concatenate([latents.location, np.ones((1, *latents.location.shape[1:]))])
    mean = np.einsum("li,ikn->lkn", output.mean, vectors)
    spread = np.einsum("lij,ikn,jkn->lkn", output.covariance, vectors, vectors)
    squares = output.mean**2 + np.diagonal(output.covariance, axis1=1, axis2=2)
    spread += np.einsum("li,ikn->lkn", squares[:, :-1], variance)
    stop = expit(mean / np.sqrt(1.0 + np.pi * spread / 8.0))
    ones = np.ones_like(stop[:1])
    left = np.concatenate([ones, np.cumprod(1.0 - stop, axis=0)])
    return (latents.weights * np.concatenate([stop, ones]) * left).sum(axis=1)


def bound(model: Network, posterior: NetworkPosterior, block: Block) -> np.ndarray:
    """Lower bound of a row with each class as its response, exponentiated and normalised."""
    _, prior = model.e_step(posterior, block, PairedProducts.of(block, "mean", "gating"))
    found = []
    for code in range(model.output.n_classes):
        given = replace(block, response=np.full((1, block.n_rows), float(code)))
        found.append(model.output.local(posterior.output, prior, given).norm)
    raised = np.exp(np.array(found) - np.max(found, axis=0))
    return raised / raised.sum(axis=0)


def rows(name: str, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Training and test rows."""
    if name == "pinwheel":
        law = bvb.datasets.SIMULATIONS["pinwheel"]
        test = law.sample(2000, np.random.default_rng([seed, 1]))
        return law.sample(200, np.random.default_rng([seed, 200])), test
    mixed = bvb.datasets.load("iris").sample(frac=1.0, random_state=seed)
    return mixed.iloc[:100], mixed.iloc[100:]


def judged(name: str, seed: int) -> list[dict[str, object]]:
    """Distance and log predictive density of every way."""
    train, test = rows(name, seed)
    experts = 10 if name == "pinwheel" else 3
    model = bvb.ConditionalMixtureNetwork("label ~ .", train, n_experts=experts)
    fit = model.fit(restarts=1, combine="best", draws=25, seed=seed)
    core, q = fit.core, fit.q
    given = model.rows(test, response=True)
    block, codes = model.block(given), np.asarray(given.response, dtype=int).ravel()
    latents = core.latents(q, block)
    fine = core.output.probabilities(q.output, latents, FINE)
    found = {
        "integral": core.probabilities(q, block),
        "moments": moments(core, q, block),
        "bound": bound(core, q, block),
        "fine": fine,
    }
    return [
        {
            "data": name,
            "seed": seed,
            "way": way,
            "mean_difference": np.abs(p - fine).mean(),
            "largest_difference": np.abs(p - fine).max(),
            "lpd": np.log(p[codes, np.arange(len(codes))]).mean(),
        }
        for way, p in found.items()
    ]


def main() -> None:
    """Mean over the seeds; the largest difference is that of all."""
    names = ("pinwheel", "iris")
    records = [one for name in names for seed in range(SEEDS) for one in judged(name, seed)]
    groups = pd.DataFrame(records).groupby(["data", "way"], sort=False)
    table = groups[["mean_difference", "lpd"]].mean()
    table.insert(1, "largest_difference", groups["largest_difference"].max())
    keep(table.reset_index(), "network_probabilities")


if __name__ == "__main__":
    main()
