"""Parts of a formula by name: one file each, and the table that models and tables are made from.

May import: nothing of the package.
"""

from __future__ import annotations

from bayesvb.data.parts.base import Part
from bayesvb.data.parts.gating import GATING, GATING_PART
from bayesvb.data.parts.mean import MEAN, MEAN_PART
from bayesvb.data.parts.sigma import LOG_SIGMA, SIGMA, SIGMA_OFFSET, SIGMA_PART
from bayesvb.data.parts.zero import ZERO, ZERO_PART

__all__ = [
    "GATING", "LABELS", "LOG_SIGMA", "MEAN", "PARTS", "SIGMA", "SIGMA_OFFSET", "ZERO", "Part",
]  # fmt: skip

PARTS: dict[str, Part] = {
    MEAN: MEAN_PART,
    GATING: GATING_PART,
    SIGMA: SIGMA_PART,
    ZERO: ZERO_PART,
}
"""Parts by name. An unnamed first part of a formula is the first of these, and so on."""

LABELS = {part.label: name for name, part in PARTS.items()}
"""Names of parts by what tables of coefficients and priors call them."""
