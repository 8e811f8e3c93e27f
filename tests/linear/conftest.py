"""Random rows of groups, as a design with groups and as one with a column for each effect."""

import numpy as np
import pytest

from bayesvb.linear.arrow_precisions import ArrowPrecision
from bayesvb.linear.designs import DenseDesign
from bayesvb.linear.precisions import DensePrecision

GROUPS, SHARED, ROWS = 6, 3, 40


class Problem:
    """One regression in both structures: ``E`` effects of groups, of which the last has no rows."""

    def __init__(self, n_effects, n_experts=2, seed=0):
        self.rng = rng = np.random.default_rng(seed)
        self.n_effects, self.n_experts = n_effects, n_experts
        self.x = rng.normal(size=(SHARED, ROWS))
        values = np.vstack([np.ones(ROWS), rng.normal(size=(2, ROWS))])[:n_effects]
        self.groups = np.vstack([rng.integers(0, GROUPS - 1, ROWS), values])
        entries = rng.uniform(0.5, 2.0, SHARED + n_effects)
        self.entries = entries
        self.prior = ArrowPrecision.from_entries(entries[:SHARED], entries[SHARED:], GROUPS)
        self.design = self.prior.design(self.x, self.groups)
        each = np.concatenate([entries[:SHARED], np.repeat(entries[SHARED:], GROUPS)])
        self.dense_prior = DensePrecision(np.diag(each))
        self.dense_design = DenseDesign(self.design.columns)
        self.weights = rng.uniform(0.1, 1.0, (n_experts, ROWS))

    @property
    def both(self):
        """Precision and design of posteriors: arrow, then dense."""
        pairs = (self.prior, self.design), (self.dense_prior, self.dense_design)
        return [(prior.plus(design.gram(self.weights)), design) for prior, design in pairs]


@pytest.fixture(params=[1, 2, 3])
def problem(request):
    return Problem(request.param)
