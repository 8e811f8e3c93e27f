"""The catalogue tells the truth about the shipped files, and loading refuses what it cannot do."""

import csv
import dataclasses
import hashlib
import io
from importlib import resources

import numpy as np
import pandas as pd
import pytest

from bayesvb import datasets
from bayesvb.errors import DataError

SHIPPED = [name for name in datasets.names() if not datasets.describe(name).simulated]


def file_bytes(name):
    return resources.files("bayesvb.datasets").joinpath("data", f"{name}.csv").read_bytes()


@pytest.mark.parametrize("name", SHIPPED)
def test_the_shipped_file_has_the_checksum_of_the_catalogue(name):
    assert hashlib.sha256(file_bytes(name)).hexdigest() == datasets.describe(name).sha256


def test_every_shipped_file_has_an_entry_and_every_simulation_too():
    folder = resources.files("bayesvb.datasets").joinpath("data")
    files = {file.name.removesuffix(".csv") for file in folder.iterdir() if ".csv" in file.name}
    assert files == set(SHIPPED)
    assert set(datasets.names()) - files == set(datasets.SIMULATIONS)


@pytest.mark.parametrize("name", datasets.names())
def test_the_frame_has_the_columns_and_rows_of_the_catalogue(name):
    description = datasets.describe(name)
    frame = datasets.load(name)
    assert list(frame.columns) == [column.name for column in description.columns]
    assert len(frame) == description.rows
    assert not frame.isna().any(axis=None)  # a level outside the catalogue would be missing


@pytest.mark.parametrize("name", datasets.names())
def test_text_columns_are_categories_with_the_levels_of_the_catalogue(name):
    frame = datasets.load(name)
    for column in datasets.describe(name).columns:
        if column.levels:
            assert tuple(frame[column.name].cat.categories) == column.levels
        else:
            assert pd.api.types.is_numeric_dtype(frame[column.name])


@pytest.mark.parametrize("name", SHIPPED)
def test_every_level_of_a_shipped_category_occurs(name):
    frame = datasets.load(name)
    for column in datasets.describe(name).columns:
        assert set(column.levels) <= set(frame[column.name].unique())


@pytest.mark.parametrize("name", SHIPPED)
def test_numbers_are_those_of_the_file_to_the_last_bit(name):
    rows = list(csv.DictReader(io.StringIO(file_bytes(name).decode("ascii"))))
    for column, values in datasets.load(name).select_dtypes("number").items():
        np.testing.assert_array_equal(values, [float(row[column]) for row in rows])


@pytest.mark.parametrize("name", datasets.names())
def test_every_entry_says_what_a_user_must_know(name):
    description = datasets.describe(name)
    for field in ("sentence", "source", "licence", "citation", "formula", "model"):
        assert getattr(description, field).strip(), field
    assert all(column.unit and column.meaning for column in description.columns)


@pytest.mark.parametrize("name", datasets.names())
def test_the_response_of_the_default_formula_is_the_last_column(name):
    description = datasets.describe(name)
    response = description.formula.split("~")[0]
    assert description.columns[-1].name in response


@pytest.mark.parametrize("name", datasets.names())
def test_a_printed_description_holds_every_fact(name):
    description = datasets.describe(name)
    page = " ".join(str(description).split())
    for field in ("name", "sentence", "source", "licence", "citation", "formula", "note"):
        assert " ".join(getattr(description, field).split()) in page, field
    for column in description.columns:
        assert column.name in page and column.unit in page and column.meaning in page
    assert (description.sha256 or description.name) in page


def test_a_description_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        datasets.describe("iris").rows = 3


def test_iris_is_the_corrected_copy():
    iris = datasets.load("iris")
    assert iris.iloc[34, :4].tolist() == [4.9, 3.1, 1.5, 0.2]
    assert iris.iloc[37, :4].tolist() == [4.9, 3.6, 1.4, 0.1]


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("breast_cancer", {"benign": 357, "malignant": 212}),
        ("vehicle", {"bus": 218, "opel": 212, "saab": 217, "van": 199}),
        ("sonar", {"mine": 111, "rock": 97}),
        ("iris", {"setosa": 50, "versicolor": 50, "virginica": 50}),
    ],
)
def test_class_counts_are_the_documented_ones(name, counts):
    assert datasets.load(name)["label"].value_counts().to_dict() == counts


@pytest.mark.parametrize("call", [datasets.load, datasets.describe])
def test_an_unknown_name_is_refused_with_a_near_one(call):
    with pytest.raises(DataError, match=r"'mcylce'[^?]*did you mean 'mcycle'\?"):
        call("mcylce")


def test_an_unknown_name_without_near_ones_lists_the_names():
    with pytest.raises(DataError, match="hint: names: mcycle, faithful"):
        datasets.load("qqqqqq")


@pytest.mark.parametrize(
    ("options", "said"),
    [({"n": 10}, "n"), ({"seed": 0}, "seed"), ({"n": 5, "seed": 1}, "n and seed")],
)
def test_options_on_a_shipped_set_are_refused(options, said):
    with pytest.raises(DataError, match=f"^{said} cannot be chosen: 'mcycle'"):
        datasets.load("mcycle", **options)


@pytest.mark.parametrize(
    ("options", "said"),
    [({"n": 0}, "n = 0"), ({"n": -3}, "n = -3"), ({"seed": -1}, "seed = -1 is negative")],
)
def test_impossible_options_of_a_simulation_are_refused(options, said):
    with pytest.raises(DataError, match=said):
        datasets.load("bimodal", **options)


def test_each_call_returns_a_frame_of_its_own():
    first = datasets.load("mcycle")
    first.loc[0, "accel"] = 1e9
    assert datasets.load("mcycle").loc[0, "accel"] == 0
