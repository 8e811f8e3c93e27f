"""Experts: what a component says of a row, one likelihood per file."""

from __future__ import annotations

from bayesvb.experts.diagonal_gaussian import DiagonalGaussianExperts
from bayesvb.experts.full_gaussian import FullGaussianExperts

GAUSSIAN_EXPERTS = {
    "full": FullGaussianExperts,
    "diagonal": DiagonalGaussianExperts,
}
"""Gaussian experts by the form of their covariance matrices."""
