"""Units: what another unit of a column changes in a fit, and what it does not."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from numpy.testing import assert_allclose

Units = Mapping[str, tuple[float, float]]
"""Factor and shift of every column."""

TWOS = {"y": (8.0, 0.0), "x": (0.25, 0.0), "z": (2.0, 0.0), "u": (0.5, 0.0), "gap": (4.0, 0.0)}
"""Powers of two, which change the exponent of a number and no other bit."""

SHIFTED = {
    "y": (60.0, -3.0),
    "x": (250.0, 1e4),
    "z": (1e-7, 0.0),
    "u": (3.0, 7.0),
    "gap": (0.3, 2.0),
}


def units_of(case, units: Units) -> Units:
    """The units, or where all columns share one, its factor for all."""
    return {name: (units["y"][0] if case.common else a, b) for name, (a, b) in units.items()}


def in_units(data: pd.DataFrame, units: Units) -> pd.DataFrame:
    """The same measurements in other units."""
    return data.assign(**{name: a * data[name] + b for name, (a, b) in units.items()})


def linear(values: xr.DataArray, units: Units, factor=1.0, shift=0.0) -> xr.DataArray:
    """Coefficients of a predictor ``factor * x' b + shift`` of columns in other units."""
    (axis,) = (dim for dim in values.dims if dim.startswith("term"))
    changed = values.copy()
    intercept = values.sel({axis: "Intercept"})
    for term in values[axis].to_numpy():
        a, b = units.get(term, (1.0, 0.0))
        slope = values.sel({axis: term}) / a
        changed.loc[{axis: term}] = factor * slope
        intercept = intercept if term == "Intercept" else intercept - b * slope
    changed.loc[{axis: "Intercept"}] = factor * intercept + shift
    return changed


def along(values: xr.DataArray, axis: str, units: Units) -> list[xr.DataArray]:
    """Factors and shifts of the columns on an axis."""
    names = [str(name) for name in values[axis].to_numpy()]
    pairs = np.array([units[name] for name in names])
    return [xr.DataArray(each, {axis: names}, [axis]) for each in pairs.T]


def in_other_units(name: str, values: xr.DataArray, case, units: Units) -> xr.DataArray:
    """Draws of a parameter as they are of the same fit to columns in other units."""
    factor, shift = units["y"] if case.has_unit else (1.0, 0.0)
    for axis in ("feature", "response"):
        if axis in values.dims:
            factor, shift = along(values, axis, units)
    if case.is_network and name in ("beta", "sigma"):  # of the latent vector
        factor, shift = 1.0, 0.0
    if name == "output":  # of the latent vector, to numbers or to log odds
        return linear(values, {}, *((factor, shift) if case.number == {} else (1.0, 0.0)))
    if name == "beta":
        return linear(values, units, factor, shift)
    if name == "beta_sigma":  # of the log standard deviation
        return linear(values, units, 1.0, np.log(factor))
    if name == "beta_common":  # slopes only
        return values * factor / along(values, "term_common", units)[0]
    if name == "gamma":
        return linear(values, units)
    if name in ("mu", "mean", "centre"):
        return factor * values + shift
    if name == "covariance":
        return factor * values * along(values, "feature_other", units)[0]
    return values * (factor if name in ("sigma", "sd", "loadings", "output_sd") else 1.0)


def lost_in_units(case, table: pd.DataFrame, units: Units) -> pd.Series:
    """What the log density of each row loses: the log factors of what was observed."""
    factors = {name: units[name][0] for name in case.explains if name in units}
    return (table[list(factors)].notna() * np.log(list(factors.values()))).sum(axis=1)


def asked_in_units(fit, case, ask, table: pd.DataFrame, units: Units) -> pd.Series | pd.DataFrame:
    """A prediction of a fit as it is of the same fit in other units."""
    factor, shift = units.get(ask.get("response", case.explains[0]), (1.0, 0.0))
    found = fit.predict(**ask)
    if ask["kind"] in ("mean", "interval", "quantile", "draws"):
        return factor * found + shift
    if ask["kind"] in ("reconstruction", "impute"):
        return in_units(found, {name: units[name] for name in found})
    if ask["kind"] == "density":
        return found / (factor if "at" in ask else np.exp(lost_in_units(case, table, units)))
    return found * factor if ask["kind"] == "sd" else found


def in_units_of(ask, case, units: Units) -> dict[str, object]:
    """The question in other units: points at which it is asked change, nothing else does."""
    factor, shift = units.get(ask.get("response", case.explains[0]), (1.0, 0.0))
    return ask | {"at": [factor * at + shift for at in ask["at"]]} if "at" in ask else ask


@pytest.fixture(scope="module", params=[(TWOS, 0.0), (SHIFTED, 1e-7)], ids=["twos", "shift"])
def changed(request, case, table):
    """Units, what rounding may do in them, and fits to the table and to the table in them."""
    units = units_of(case, request.param[0])
    fits = [case.brief_fit(case.model(data)) for data in (table, in_units(table, units))]
    return units, request.param[1], *fits


def test_units_change_coefficients_and_nothing_else(changed, case, table):
    units, error, here, there = changed
    for one, other in zip(here.parts, there.parts, strict=True):
        before, after = (member.fit.stats.to_vector() for member in (one, other))
        assert_allclose(after, before, rtol=0, atol=error * np.abs(before).max())
    for name, values in here.posterior.items():
        expected = in_other_units(name, values, case, units)
        found = there.posterior[name].transpose(*expected.dims)
        near = error * max(1.0, float(np.abs(expected).max()))
        assert_allclose(found, expected, rtol=1e-12, atol=near, err_msg=name)
    observed = [name for name in case.explains if name in units]
    lost = sum(
        (np.log(units[name][0]) * table[name].notna() for name in observed), 0.0 * table["y"]
    )
    assert_allclose(there.log_density(), here.log_density() - lost, atol=1e-10 + error)
    assert there.elbo == pytest.approx(here.elbo - lost.sum(), rel=1e-10 + error)


def test_units_change_predictions_as_they_should(changed, case, table):
    units, error, here, there = changed
    for ask in case.asks:
        expected = asked_in_units(here, case, ask, table, units)
        found = there.predict(**in_units_of(ask, case, units))
        if ask["kind"] == "class":
            assert found.equals(expected)
        elif ask["kind"] in ("quantile", "cdf", "density"):
            assert_allclose(found, expected, rtol=1e-9 + 10.0 * error)
        else:
            near = error * float(np.nanmax(np.abs(expected)))
            assert_allclose(found, expected, rtol=1e-9, atol=near)
