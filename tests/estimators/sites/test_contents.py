"""Statistics of sites with an array absent, unknown, of another shape or not a number: one word."""

import json
import warnings
from dataclasses import replace
from functools import cache

import h5py
import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.errors import DataError
from bayesvb.estimators.sites.contents import check_contents, column_name, keyed
from bayesvb.storage.sealing import seal, unseal

RNG = np.random.default_rng(2)
DATA = pd.DataFrame({"x": RNG.normal(size=60), "g": list("abc") * 20})
DATA["y"] = DATA["x"] + (DATA["g"] == "b") + 0.5 * RNG.normal(size=60)
SITES = [DATA[:30], DATA[30:]]
FEW = {"restarts": 1, "covariance": "mean-field", "tol": 1e-9}


@cache
def model():
    return bvb.DensityRegression("y ~ s(x, k=4) + g", SITES[0], n_components=2, family="student")


@pytest.fixture(scope="module")
def history():
    """A part of each round, and what the other site told in it; the third one of sums too."""
    agreed, found = None, []
    while agreed is None or agreed.n_passes < 5:
        parts = [bvb.site_statistics(model(), rows, agreed, **FEW) for rows in SITES]
        agreed = bvb.merge_site_statistics(parts)
        found.append((*parts, agreed))
    assert [one[0].round for one in found[:4]] == ["columns", "scales", "starts", "sums"]
    return found


def used(part, other, agreed):
    """Whatever becomes of a part, and of what was merged; each error is one of ours."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if part is not None:
            agreed = bvb.merge_site_statistics([part, other])
        bvb.site_statistics(model(), SITES[0], agreed, **FEW)


def changed(values, how):
    """Numbers that are not what they were."""
    if how == "longer":
        return np.concatenate([values, values]) if values.ndim else np.zeros(2)
    if how == "flat":
        return values[..., None]
    if how == "empty":
        return np.zeros((0,) * max(values.ndim, 1))
    return values * np.nan if how == "nan" else -np.abs(values) - 0.5


HOWS = ("longer", "flat", "empty", "nan")


EACH = [pytest.param(number, marks=pytest.mark.heavy) for number in (0, 1, 2, -1)]


@pytest.mark.parametrize("number", [*EACH, 3])
def test_every_array_is_needed_and_has_one_shape(history, number):
    part, other, agreed = history[number]
    for name, values in part.own.items():
        rest = {one: array for one, array in part.own.items() if one != name}
        with pytest.raises(DataError, match="statistics"):
            used(replace(part, own=rest), other, None)
        for how in HOWS:
            if (name, how) in {("learned", "longer"), ("starts", "longer")}:
                continue
            if name.endswith(("to_go", "cycles", "sweeps", "trace")) and how == "longer":
                continue
            if not values.size and how != "flat":
                continue
            with pytest.raises(DataError):
                used(replace(part, own={**part.own, name: changed(values, how)}), other, None)
    for name in agreed.known:
        rest = {one: array for one, array in agreed.known.items() if one != name}
        with pytest.raises(DataError):
            used(None, None, replace(agreed, known=rest))


@pytest.mark.heavy
@pytest.mark.parametrize("number", [0, 1, 2, 3, -1])
def test_whatever_is_changed_is_refused_or_used(history, number):
    part, other, agreed = history[number]
    for name, values in part.own.items():
        for how in (*HOWS, "negative"):
            try:
                used(replace(part, own={**part.own, name: changed(values, how)}), other, None)
            except DataError:
                continue
    for name, values in agreed.known.items():
        for how in (*HOWS, "negative"):
            try:
                used(
                    None, None, replace(agreed, known={**agreed.known, name: changed(values, how)})
                )
            except DataError:
                continue


def test_what_no_round_has_is_refused(history):
    part, other, agreed = history[3]
    with pytest.raises(DataError, match="unknown array 'more'"):
        used(replace(part, own={**part.own, "more": np.zeros(2)}), other, None)
    with pytest.raises(DataError, match="unknown array"):
        used(None, None, replace(agreed, known={**agreed.known, "run0.": np.zeros(2), "at": 1}))
    with pytest.raises(DataError, match="its round is 'later'"):
        check_contents("later", {}, {}, {})
    with pytest.raises(DataError, match="not a name of moments"):
        column_name("moments_zz")
    assert column_name(keyed("a b")) == "a b"


def forged(path, tell=None, array=None):
    """A file with another description, or without an array, behind a checksum that fits."""
    whole = path.with_suffix(".h5")
    whole.write_bytes(unseal(path.read_bytes())[0])
    with h5py.File(whole, "r+") as file:
        if array is not None:
            del file[f"site_statistics/{array}"]
        told = json.loads(file.attrs["site_statistics"])
        file.attrs["site_statistics"] = json.dumps({**told, **(tell or {})})
    path.write_bytes(seal(whole.read_bytes()))
    return path


def test_files_are_refused_by_name(history, tmp_path):
    part, other, agreed = history[3]
    path = part.save(tmp_path / "part.nc")
    assert bvb.merge_site_statistics([path, other]).n_passes == agreed.n_passes
    with pytest.raises(DataError, match=r"part\.nc.*no array 'owners'"):
        bvb.merge_site_statistics([forged(path, array="own.owners"), other])
    path = agreed.save(tmp_path / "agreed.nc")
    bvb.site_statistics(model(), SITES[0], path)
    with pytest.raises(DataError, match=r"agreed\.nc.*no array 'starts'"):
        bvb.site_statistics(model(), SITES[0], forged(path, array="known.starts"))
    for tell, word in [
        ({"version": 1}, "its format is version 1, but this version of bayesvb reads 2"),
        ({"version": None}, "its format is version None"),
        ({"n_rows": -3}, "-3 rows"),
        ({"round": "later"}, "its round is 'later'"),
        ({"levels": {"x": [[1]]}}, "text and numbers only"),
        ({"levels": {}}, "curved has the shape"),
    ]:
        path = forged(agreed.save(tmp_path / "agreed.nc"), tell)
        with pytest.raises(DataError, match=word):
            bvb.site_statistics(model(), SITES[0], path)


def test_statistics_of_another_formula_are_refused(history):
    agreed = history[1][2]
    moments = [name for name in agreed.known if name.startswith("moments_")]
    with pytest.raises(DataError, match="moments of"):
        used(None, None, replace(agreed, known={**agreed.known, keyed("z"): np.ones((4, 1))}))
    short = {name: agreed.known[name][:4, :1] for name in moments}
    with pytest.raises(DataError, match="moments of"):
        used(None, None, replace(agreed, known={**agreed.known, **short}))
    more = replace(agreed, levels={**agreed.levels, "z": []})
    more = replace(more, known={**more.known, "counts": np.append(more.known["counts"], 0.0)})
    with pytest.raises(DataError, match="not reported the same columns"):
        used(None, None, more)
