"""A network with random experts: an alternative to a partition of the rows."""

from __future__ import annotations

import numpy as np

from bayesvb.factors.matrix_normal_gamma import MatrixNormalGamma
from bayesvb.factors.normal import Normal
from bayesvb.linear.precisions import DensePrecision
from bayesvb.models.network.model import Network
from bayesvb.models.network.output import START_PRECISION
from bayesvb.models.network.state import NetworkPosterior


def random_start(
    network: Network, rng: np.random.Generator, spread: float = 3.0
) -> NetworkPosterior:
    """Posterior with random experts, gate and output layer at their prior means.

    Coefficients of the experts are uniform on ``+-spread / sqrt(terms)``. One iteration under it
    gives the initial statistics of a fit, as in published code. Partitions of the rows perform
    better, above all with many columns.
    """
    prior = network.experts.prior
    n_latents, n_terms = prior.mean.shape
    noise = rng.uniform(-spread, spread, (network.n_components, n_latents, n_terms))
    narrow = MatrixNormalGamma.prior(
        prior.mean, START_PRECISION * np.eye(n_terms), float(prior.shape) + 1.0, prior.rate + 1.0
    )
    each = (network.n_components, *(1,) * 2)
    experts = MatrixNormalGamma(
        prior.mean + noise / np.sqrt(n_terms),
        DensePrecision(np.tile(narrow.precision, each)),
        np.full(network.n_components, float(narrow.shape)),
        np.tile(narrow.rate, each[:2]),
    )
    gate_mean = network.gate.prior.mean
    precision = START_PRECISION * np.eye(gate_mean.shape[1])
    gate = Normal.from_precision(gate_mean, np.tile(precision, (len(gate_mean), 1, 1)))
    return NetworkPosterior(experts, gate, network.output.start())
