"""What rows leave behind for linear experts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from bayesvb.blocks import Block
from bayesvb.linalg import products
from bayesvb.stats import Stats


@dataclass(frozen=True)
class LinearSums(Stats):
    """Weighted sums over rows, per expert.

    Attributes
    ----------
    weight : ndarray, shape (experts,)
        Sum of the responsibilities.
    xx : ndarray, shape (experts, pairs)
        Sum of ``x x'``, packed.
    xy : ndarray, shape (experts, responses, terms)
        Sum of ``y_i x``.
    yy : ndarray, shape (experts, responses)
        Sum of ``y_i^2``.
    """

    weight: Float[np.ndarray, " experts"]
    xx: Float[np.ndarray, "experts pairs"]
    xy: Float[np.ndarray, "experts responses terms"]
    yy: Float[np.ndarray, "experts responses"]

    @classmethod
    def of_rows(
        cls, responsibilities: Float[np.ndarray, "experts rows"], block: Block
    ) -> LinearSums:
        """Sums weighted by the responsibilities."""
        design, response = block.designs["mean"], block.response
        weighted = responsibilities[:, None, :] * response
        return cls(
            weight=responsibilities.sum(axis=1),
            xx=responsibilities @ products(design).T,
            xy=weighted @ design.T,
            yy=(weighted * response).sum(axis=2),
        )
