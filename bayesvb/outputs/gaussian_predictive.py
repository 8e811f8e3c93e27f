"""Predictive distribution of a numeric response, latent vector and parameters integrated out."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from bayesvb.factors.matrix_normal_gamma import MatrixNormalGamma
from bayesvb.linalg import products, quadratic_weights
from bayesvb.outputs.base import LatentPredictive
from bayesvb.student_mixture import StudentMixture, joint_log_density


def matched(
    posterior: MatrixNormalGamma, latents: LatentPredictive, response: int = 0
) -> StudentMixture:
    """One Student t per expert with the mean and the variance of the exact distribution.

    Given the expert the response is ``b' x1 + b_0`` plus noise: a sum of independent Student t. Its
    variance is exact under q, uncertainty of the coefficients included; its degrees of freedom are
    the smallest of the sum's. Where experts have many rows all of it is a normal.
    """
    mean, covariance = posterior.mean[0, response], posterior.covariance[0]
    n_latents, n_experts, n_rows = latents.location.shape
    heavier = latents.dof / np.where(latents.dof > 2.0, latents.dof - 2.0, latents.dof)
    variance = latents.scale**2 * heavier[:, None]
    vectors = np.ones((n_latents + 1, n_experts, n_rows))
    vectors[:-1] = latents.location
    flat = vectors.reshape(n_latents + 1, -1)
    spread = (quadratic_weights(covariance) @ products(flat)).reshape(n_experts, n_rows)
    spread += np.tensordot(np.diagonal(covariance)[:-1], variance, axes=1)
    dof = 2.0 * float(posterior.shape[0])
    noise = posterior.rate[0, response] / posterior.shape[0] * (1.0 + spread)
    noise *= dof / (dof - 2.0) if dof > 2.0 else 1.0
    total = noise + np.tensordot(mean[:-1] ** 2, variance, axes=1)
    joint = np.minimum(latents.dof, dof)
    lighter = np.where(joint > 2.0, joint - 2.0, joint) / joint
    return StudentMixture(
        weights=latents.weights,
        location=(mean @ flat).reshape(n_experts, n_rows),
        scale=np.sqrt(total * lighter[:, None]),
        dof=joint,
    )


def log_density_of(
    posterior: MatrixNormalGamma,
    latents: LatentPredictive,
    responses: Float[np.ndarray, "responses rows"],
) -> Float[np.ndarray, " rows"]:
    """Log density of all responses of each row, independent given the expert."""
    marginals = [matched(posterior, latents, number) for number in range(len(responses))]
    return joint_log_density(marginals, responses)
