"""Likelihood of Gaussian linear experts with logit weights, with its gradient, in NumPy.

Coefficients are in units of each component's noise, ``u = beta sqrt(tau)``, and precisions are
``t = log tau``: the coefficients of a component without rows do not depend on its noise then.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from bayesvb.numerics.arrays import (
    DrawRows,
    DrawVector,
    ResponseRows,
    RowVector,
    TermRows,
)
from bayesvb.numerics.pieces import IN_CACHE, pieces
from bayesvb.numerics.special import LOG_2PI

Coefficients = Float[np.ndarray, "draws experts responses terms"]
LogPrecisions = Float[np.ndarray, "draws experts _"]  # of each response, or none
Logits = Float[np.ndarray, "draws logits gate_terms"]
Further = Float[np.ndarray, "draws further_terms"]  # coefficients that the components share


@dataclass(frozen=True)
class MixtureRows:
    """Rows of a mixture of Gaussian linear experts.

    Attributes
    ----------
    design : ndarray, shape (terms, rows)
    gating : ndarray, shape (gating terms, rows)
    response : ndarray, shape (responses, rows)
    weight : ndarray, shape (rows,), or None
        Case weights, which multiply log likelihoods.
    is_stick_breaking : bool
        Whether logits are sticks in the order of the experts, or contrasts to the last expert.
    """

    design: TermRows
    gating: Float[np.ndarray, "gating_terms rows"]
    response: ResponseRows
    weight: RowVector | None
    is_stick_breaking: bool

    def log_lik(
        self, u: Coefficients, t: LogPrecisions, logits: Logits, *further: Further
    ) -> DrawVector:
        """Log likelihood of all rows."""
        given = u, t, logits, *further
        few = [[part[at] for part in given] for at in self._pieces(u)]
        return np.concatenate([self._some(*one, slopes=False)[0] for one in few])

    def slopes(
        self, u: Coefficients, t: LogPrecisions, logits: Logits, *further: Further
    ) -> tuple[np.ndarray, ...]:
        """Log likelihood of all rows, and its gradient in each part."""
        given = u, t, logits, *further
        few = [[part[at] for part in given] for at in self._pieces(u)]
        slopes = [self._some(*one, slopes=True) for one in few]
        return tuple(np.concatenate(part) for part in zip(*slopes, strict=True))

    def _pieces(self, u: Coefficients) -> list[slice]:
        """A few draws at a time; sizes depend on nothing but the number of rows."""
        return pieces(len(u), self.response.shape[1], IN_CACHE)

    def _some(
        self, u: Coefficients, t: LogPrecisions, logits: Logits, *, slopes: bool
    ) -> tuple[np.ndarray, ...]:
        """Value, and (``slopes``) gradient, of a few draws. Work arrays are (experts, draws, rows).

        With ``z = sqrt(tau) y - x'u`` an expert's log density is ``t / 2 - z^2 / 2``.
        """
        root = np.exp(0.5 * t)[..., None].transpose(2, 1, 0, 3)
        z = root * self.response[:, None, None] - np.matmul(u.transpose(2, 1, 0, 3), self.design)
        terms = -0.5 * (z * z).sum(axis=0) + 0.5 * t.sum(axis=2).T[:, :, None]
        weights = self._log_weights(terms, logits)
        top = terms.max(axis=0)
        terms -= top
        np.exp(terms, out=terms)
        total = terms.sum(axis=0)
        by_row = np.log(total) + top - 0.5 * len(self.response) * LOG_2PI - weights[0]
        value = by_row.sum(axis=1) if self.weight is None else by_row @ self.weight
        if not slopes:
            return (value,)
        terms /= total  # responsibilities
        if self.weight is not None:
            terms *= self.weight
        pull = terms * z
        by_u = np.matmul(pull, self.design.T).transpose(2, 1, 0, 3)
        by_t = 0.5 * (terms - pull * root * self.response[:, None, None]).sum(axis=3)
        by_logit = np.matmul(self._excess(terms, weights[1]), self.gating.T).transpose(1, 0, 2)
        return value, by_u, by_t.transpose(2, 1, 0), by_logit

    def _log_weights(
        self, terms: Float[np.ndarray, "experts draws rows"], logits: Logits
    ) -> tuple[DrawRows | float, Float[np.ndarray, "logits draws rows"]]:
        """Add the logits to the terms; the log normaliser, and each logit's probability."""
        at_rows = np.matmul(logits.transpose(1, 0, 2), self.gating)
        if not len(at_rows):
            return 0.0, at_rows
        if self.is_stick_breaking:
            passed = np.logaddexp(0.0, at_rows)
            for stick, log_passed in enumerate(passed):
                terms[stick] += at_rows[stick]
                terms[stick:] -= log_passed
            return 0.0, np.exp(at_rows - passed)
        terms[:-1] += at_rows
        top = np.maximum(at_rows.max(axis=0), 0.0)
        shares = np.exp(at_rows - top)
        total = shares.sum(axis=0) + np.exp(-top)
        shares /= total
        return np.log(total) + top, shares

    def _excess(
        self,
        responsibilities: Float[np.ndarray, "experts draws rows"],
        probability: Float[np.ndarray, "logits draws rows"],
    ) -> Float[np.ndarray, "logits draws rows"]:
        """Derivative of the rows' log likelihood in the logits."""
        n_logits = len(probability)
        if self.is_stick_breaking:
            reach = np.cumsum(responsibilities[::-1], axis=0)[::-1][:n_logits]
        else:
            reach = np.ones(1) if self.weight is None else self.weight
        return np.asarray(responsibilities[:n_logits] - probability * reach)
