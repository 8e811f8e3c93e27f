import warnings

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from bayesvb.errors import DataError
from bayesvb.storage.arviz_objects import (
    GROUPS,
    arviz_line,
    as_tree,
    coordinate,
    encode_attributes,
    from_tree,
    group,
    group_names,
    import_arviz,
    to_arviz,
)

DRAWS, ROWS = 200, 12


@pytest.fixture
def arrays(rng):
    log_lik = rng.normal(-1, 0.1, size=(DRAWS, ROWS))
    return {
        "observed_data": {"y": rng.normal(size=ROWS)},  # not in the order of the schema
        "posterior": {"beta": rng.normal(size=(DRAWS, 2, 3)), "sigma": rng.gamma(1, size=DRAWS)},
        "log_likelihood": {"y": log_lik},
        "sample_stats": {"lp": log_lik.sum(axis=1), "log_q": np.zeros(DRAWS)},
        "constant_data": {"elbo": np.arange(5.0)},
    }


DIMS = {"beta": ["component", "term_mean"], "y": ["obs_id"], "elbo": ["iteration"]}


def make(arrays, kind="auto"):
    return to_arviz(
        arrays,
        dims=DIMS,
        coords={"term_mean": ["Intercept", "x", "z"], "obs_id": pd.RangeIndex(10, 10 + ROWS)},
        attrs={"formula": "y ~ x + z", "converged": True, "seed": None, "elbo": np.float64(-3.5)},
        kind=kind,
    )


def test_the_installed_line_decides_the_kind(arrays):
    name = type(make(arrays)).__name__
    assert name == ("InferenceData" if arviz_line() == 0 else "DataTree")


@pytest.mark.parametrize("kind", ["auto", "datatree"])
def test_groups_dims_and_labels(arrays, kind):
    obj = make(arrays, kind)
    assert group_names(obj) == [name for name in GROUPS if name in arrays]
    posterior = group(obj, "posterior")
    assert posterior["beta"].dims == ("chain", "draw", "component", "term_mean")
    assert dict(posterior.sizes) == {"chain": 1, "draw": DRAWS, "component": 2, "term_mean": 3}
    assert posterior["term_mean"].values.tolist() == ["Intercept", "x", "z"]
    assert group(obj, "observed_data")["obs_id"].values.tolist() == list(range(10, 22))
    assert "obs_id" not in posterior.coords
    np.testing.assert_array_equal(posterior["beta"].values[0], arrays["posterior"]["beta"])
    for name in group_names(obj):
        data = group(obj, name)
        assert set(data.dims) == set(data.coords), "every dim has an index"
        assert data.attrs["inference_library"] == "bayesvb"
    assert posterior.attrs["sample_dims"] == ["chain", "draw"]


@pytest.mark.parametrize("kind", ["auto", "datatree"])
def test_attributes_of_the_root(arrays, kind):
    attrs = make(arrays, kind).attrs
    assert attrs["formula"] == "y ~ x + z"
    assert attrs["converged"] == "true"
    assert attrs["seed"] == "null"
    assert attrs["elbo"] == -3.5


def test_arviz_takes_what_is_made(arrays):
    az, obj = import_arviz(), make(arrays)
    table = az.summary(obj, var_names=["beta"], kind="stats", round_to="none")
    assert len(table) == 6
    expected = arrays["posterior"]["beta"].mean(axis=0).ravel()
    np.testing.assert_allclose(table["mean"].astype(float), expected, atol=1e-10)
    assert az.loo(obj, pointwise=True).n_data_points == ROWS


def test_a_dataset_is_taken_as_it_is(arrays):
    chains = xr.Dataset({"beta": (("chain", "draw"), np.zeros((4, 5)))})
    obj = to_arviz({"posterior": chains}, kind="datatree")
    assert dict(group(obj, "posterior").sizes) == {"chain": 4, "draw": 5}
    assert "sample_dims" not in chains.attrs


def test_tree_and_back(arrays):
    obj = make(arrays)
    back = from_tree(as_tree(obj))
    assert type(back) is type(obj)
    assert group_names(back) == group_names(obj)
    assert back.attrs == obj.attrs
    for name in group_names(obj):
        xr.testing.assert_identical(group(back, name), group(obj, name))


def test_from_tree_leaves_out_what_is_not_arviz(arrays):
    tree = as_tree(make(arrays)).copy()
    tree["model"] = xr.DataTree(xr.Dataset({"a": 1.0}))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "model" not in group_names(from_tree(tree))


def test_unknown_group_is_refused():
    with pytest.raises(DataError, match=r"\['posterior_'\] are not ArviZ groups\nhint: .*prior"):
        to_arviz({"posterior_": {"a": [1.0]}})


@pytest.mark.parametrize("shape", [(4,), (4, 2, 3)])
def test_axes_without_a_name_are_refused(shape):
    with pytest.raises(DataError, match=r"'beta' has shape .* dims are \('draw', 'term'\)"):
        to_arviz({"posterior": {"beta": np.zeros(shape)}}, dims={"beta": ["term"]})


def test_unknown_kind_is_refused():
    with pytest.raises(DataError, match="kind='tree' is unknown"):
        to_arviz({"posterior": {"a": [1.0]}}, kind="tree")


def test_inference_data_needs_the_old_line():
    if arviz_line() == 0:
        pytest.skip("ArviZ 0.x makes it")
    with pytest.raises(DataError, match=r"needs ArviZ 0\.x"):
        to_arviz({"posterior": {"a": [1.0]}}, kind="inferencedata")


def test_missing_group_is_named(arrays):
    with pytest.raises(DataError, match=r"group 'prior' is missing\nhint: there are posterior"):
        group(make(arrays), "prior")


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        ("text", "text"),
        (3, 3),
        (np.int32(3), 3),
        (np.float64(0.5), 0.5),
        (True, "true"),
        (np.bool_(False), "false"),
        (None, "null"),
        (["a"], '["a"]'),
        ([], "[]"),
        ({"a": [1, None]}, '{"a": [1, null]}'),
        (np.array([1.0, 2.0]), "[1.0, 2.0]"),
    ],
)
def test_attributes_are_text_or_numbers(value, encoded):
    result = encode_attributes({"a": value})["a"]
    assert result == encoded
    assert type(result) is type(encoded)


@pytest.mark.parametrize(
    ("index", "labels"),
    [
        (pd.Index([3, 3, 1]), [3, 3, 1]),
        (pd.Index(["b", "a"]), ["b", "a"]),
        (pd.Index([1, "a"]), ["1", "a"]),
        (pd.CategoricalIndex(["u", "v"]), ["u", "v"]),
        (pd.MultiIndex.from_tuples([("a", 1), ("b", 2)]), ["a, 1", "b, 2"]),
        (pd.period_range("2020", periods=2, freq="M"), ["2020-01", "2020-02"]),
        (range(2), [0, 1]),
    ],
)
def test_labels_are_numbers_or_text(index, labels):
    assert coordinate(index).tolist() == labels


def test_dates_with_a_zone_are_given_in_utc():
    index = pd.DatetimeIndex(["2020-07-01 02:00"]).tz_localize("Europe/Paris")
    assert coordinate(index)[0] == np.datetime64("2020-07-01T00:00")
