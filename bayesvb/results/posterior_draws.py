"""Draws that intervals are made of, and where they come from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from bayesvb.engines.sampler_record import SamplerRecord
from bayesvb.variational.local import Draws

__all__ = ["PosteriorDraws"]


@dataclass(frozen=True)
class PosteriorDraws:
    """Draws of all parameters of a fit, on the standardised scale.

    Attributes
    ----------
    values : Mapping of str to ndarray, shape (draws, ...)
    log_density : ndarray, shape (draws,)
        Log density of the draws under the distribution that they are from; of the exact posterior
        the log joint density.
    covariance : {"linear-response", "mean-field", "importance", "exact", "robust", "engine"}
        What the draws were made with; ``"engine"`` if the engine returned them.
    sampler : SamplerRecord or None
        Sampler of the exact posterior: of these draws, or one that did not reach it.
    """

    values: Draws
    log_density: Float[np.ndarray, " draws"]
    covariance: str
    sampler: SamplerRecord | None = None

    @classmethod
    def from_posterior(cls, core: Any, posterior: Any, values: Draws) -> PosteriorDraws:
        """Draws from the variational posterior of a model, whose factors are independent."""
        return cls(values, core.log_posterior(posterior, values), "mean-field")
