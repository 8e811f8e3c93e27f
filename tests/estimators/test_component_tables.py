"""Tables of the components: which rows are whose, and how certain that is."""

import numpy as np
from numpy.testing import assert_allclose

from bayesvb.estimators.component_tables import Membership


def test_rows_belong_to_their_most_likely_component():
    responsibilities = np.array([[0.9, 0.2, 0.6, 0.4], [0.1, 0.8, 0.4, 0.6]])
    found = Membership.of(responsibilities)
    assert_allclose(found.rows, [2.0, 2.0])
    assert_allclose(found.certainty, [0.9 + 0.6, 0.8 + 0.6])


def test_separation_is_the_mean_probability_of_the_component_in_its_rows(regimes_fit):
    each = regimes_fit.responsibilities()
    likely = each.idxmax(axis=1)
    table = regimes_fit.components()
    for component in table.index:
        own = each.loc[likely == component, component]
        assert table.loc[component, "rows"] == len(own)
        assert_allclose(table.loc[component, "membership_prob"], own.mean(), rtol=1e-10)
