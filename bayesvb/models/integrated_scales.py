r"""Prior precisions of blocks of coefficients, integrated out: a multivariate t.

Of a block of ``n`` coefficients with sum of squares ``Q``,

.. math:: \int \prod N(u; 0, 1/l)\, \mathrm{Ga}(l; c, d)\, dl
          = \frac{\Gamma(c + n/2)}{\Gamma(c)}\, d^c (2\pi)^{-n/2} (d + Q/2)^{-(c + n/2)},

and given the coefficients ``l ~ Ga(c + n/2, d + Q/2)``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float
from scipy.special import gammaln

from bayesvb.factors.gamma import Gamma, gamma_log_density
from bayesvb.models.term_scales import TermScales
from bayesvb.numerics.arrays import BlockVector, DrawTerms, DrawVector
from bayesvb.numerics.special import LOG_2PI


@dataclass(frozen=True)
class IntegratedScales:
    """Priors of vectors of coefficients whose learned precisions are integrated out.

    Attributes
    ----------
    fixed : ndarray, shape (terms, terms)
        Prior precision of the coefficients in no block; zero for the others.
    membership : ndarray, shape (blocks, terms)
    counts : ndarray, shape (blocks,)
        Number of coefficients of each block, over all vectors.
    prior : Gamma
        Of every precision.
    n_vectors : int
        Vectors that the fixed precision applies to.
    """

    fixed: Float[np.ndarray, "terms terms"]
    membership: Float[np.ndarray, "blocks terms"]
    counts: BlockVector
    prior: Gamma
    n_vectors: int

    @classmethod
    def from_precision(
        cls, precision: Float[np.ndarray, "terms terms"], n_vectors: int
    ) -> IntegratedScales:
        """A prior without learned precisions."""
        none = Gamma(np.ones(1), np.ones(1))
        return cls(precision, np.zeros((0, len(precision))), np.zeros(0), none, n_vectors)

    @classmethod
    def from_scales(cls, scales: TermScales, prior: Gamma, n_vectors: int) -> IntegratedScales:
        """The prior of a part whose terms have these scales."""
        counts = n_vectors * scales.membership.sum(axis=1)
        return cls(np.diag(scales.fixed), scales.membership, counts, prior, n_vectors)

    def first_terms(self, n_terms: int) -> IntegratedScales:
        """The prior of the first terms, where the others are in no block."""
        fixed, membership = self.fixed[:n_terms, :n_terms], self.membership[:, :n_terms]
        return replace(self, fixed=fixed, membership=membership)

    @property
    def shape(self) -> BlockVector:
        """Shapes of the precisions given the coefficients."""
        return np.asarray(np.broadcast_to(self.prior.shape, self.counts.shape) + 0.5 * self.counts)

    @property
    def constant(self) -> float:
        """Terms of the log density that do not depend on the coefficients."""
        known = ~self.membership.any(axis=0)
        block = self.fixed[np.ix_(known, known)]
        log_det = np.linalg.slogdet(block)[1] if len(block) else 0.0
        first = np.broadcast_to(self.prior.shape, self.counts.shape)
        total = gammaln(self.shape) - gammaln(first) + first * np.log(self.prior.rate)
        n_numbers = self.n_vectors * len(block) + self.counts.sum()
        return float(
            0.5 * self.n_vectors * log_det + (total * np.ones(len(self.counts))).sum()
            - 0.5 * n_numbers * LOG_2PI
        )  # fmt: skip

    def rates(self, squares: DrawTerms) -> Float[np.ndarray, "draws blocks"]:
        """Rates of the precisions given sums of squares of each term."""
        return np.asarray(self.prior.rate + 0.5 * squares @ self.membership.T)

    def log_density(self, squares: DrawTerms) -> tuple[DrawVector, DrawTerms]:
        """Log density of the blocks without its constant, and minus twice its slope in squares."""
        rates = self.rates(squares)
        return -np.log(rates) @ self.shape, (self.shape / rates) @ self.membership

    def draw(
        self, squares: DrawTerms, rng: np.random.Generator
    ) -> tuple[Float[np.ndarray, "draws blocks"], DrawVector]:
        """Precisions given sums of squares, and their log density."""
        rates = self.rates(squares)
        drawn = rng.standard_gamma(self.shape, rates.shape) / rates
        return drawn, np.asarray(gamma_log_density(drawn, self.shape, rates).sum(axis=1))
