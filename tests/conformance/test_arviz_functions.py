"""Functions of ArviZ, of the installed line, on the object of every model by every engine."""

import warnings

import pytest

from bayesvb.storage.arviz_objects import import_arviz


@pytest.fixture(scope="module")
def az():
    return import_arviz()


@pytest.mark.parametrize("name", ["gaussians, full", "components, scaled", "normal"])
def test_summary_has_a_row_per_number(az, cases, table, name):
    fit = cases[name].brief_fit(cases[name].model(table))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = az.summary(fit.idata, kind="stats")
    assert len(found) == sum(values[0].size for values in fit.named.values.values())
