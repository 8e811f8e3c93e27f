"""Record of how draws of the exact posterior were made, with their diagnostics."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class SamplerRecord:
    """Sampler of the draws of a fit, with its diagnostics.

    Attributes
    ----------
    method : {"importance sampling", "parallel tempering", "HMC"}
    n_drawn : int
        Number of draws generated; the fit's draws are a part of them.
    effective : float
        Effective draws: ``1 / sum w^2`` of importance weights, or the smallest bulk effective
        sample size of chains over log density and effects.
    khat : float
        Pareto k of importance weights; NaN of chains.
    r_hat : float
        Largest R-hat of chains over log density and effects; NaN of importance sampling.
    n_chains : int
        Chains that the draws of the fit come from, one after the other.
    interrupted : bool
        Whether Ctrl-C ended the sampler early.
    """

    method: str
    n_drawn: int
    effective: float
    khat: float = math.nan
    r_hat: float = math.nan
    n_chains: int = 1
    interrupted: bool = False

    @property
    def words(self) -> str:
        """Sampler and diagnostics, in brackets of a sentence.

        Examples
        --------
        >>> SamplerRecord("importance sampling", 12000, 2700.4, khat=0.25).words
        'importance sampling of 12,000 draws, 2,700 effective, k 0.25'
        """
        effective = f"{self.effective:,.0f} effective"
        if math.isnan(self.r_hat):
            return f"{self.method} of {self.n_drawn:,} draws, {effective}, k {self.khat:.2f}"
        early = ", interrupted" if self.interrupted else ""
        return f"{self.method}, {self.n_chains} chains, R-hat {self.r_hat:.2f}, {effective}{early}"

    def description(self) -> dict[str, object]:
        """Arguments by name, JSON-able: NaN is None."""
        return {
            name: None if isinstance(value, float) and math.isnan(value) else value
            for name, value in asdict(self).items()
        }

    @classmethod
    def from_description(cls, stored: Mapping[str, object]) -> SamplerRecord:
        """The record of a description."""
        values: dict[str, Any] = {
            name: math.nan if value is None else value for name, value in stored.items()
        }
        return cls(**values)
