"""Experts: what a component says of a row, one likelihood per file."""

from __future__ import annotations

from typing import Any

from bayesvb.experts.diagonal_gaussian import DiagonalGaussianExperts
from bayesvb.experts.full_gaussian import FullGaussianExperts

GAUSSIAN_EXPERTS: dict[str, Any] = {
    "full": FullGaussianExperts,
    "diagonal": DiagonalGaussianExperts,
}
"""Gaussian experts by the form of their covariance matrices."""
