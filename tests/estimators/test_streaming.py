"""Fits to rows that are read in blocks: those of the same rows in memory, whatever is read."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import bayesvb as bvb
from bayesvb.data import frame_streams
from bayesvb.data.blocks import BLOCK_ROWS
from bayesvb.errors import ConvergenceWarning, DataError
from bayesvb.evaluation.elpd import read_elpd
from bayesvb.formula.passes import representatives

FORMULA = "y ~ x + g | gating(x)"
QUICK = {"seed": 1, "restarts": 2, "draws": 25, "covariance": "mean-field"}


def table(n_rows, seed=0):
    """Two curves, levels and weights; one level is rare, and some values are missing."""
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=n_rows), rng.random(n_rows)
    g = rng.choice(["a", "b", "c"], n_rows, p=[0.49, 0.5, 0.01])
    upper = rng.random(n_rows) < 1.0 / (1.0 + np.exp(-x))
    y = np.where(upper, 1.0 + x, -1.0 - z) + 0.4 * rng.normal(size=n_rows)
    frame = pd.DataFrame({"y": y, "x": x, "z": z, "g": g, "w": rng.integers(1, 4, n_rows)})
    frame["side"] = np.where(z < 0.5, "left", "right")
    frame.loc[rng.integers(0, n_rows, 5), "x"] = np.nan
    return frame


def pieces(frame, n_pieces=3):
    cuts = np.linspace(0, len(frame), n_pieces + 1).astype(int)
    return [frame.iloc[a:b] for a, b in pairwise(cuts)]


@pytest.fixture
def folder(tmp_path):
    return written(tmp_path, table(600))


def written(path, frame):
    for number, piece in enumerate(pieces(frame)):
        piece.to_parquet(path / f"part-{number}.parquet", row_group_size=77)
    return path


def as_duckdb(path):
    return pytest.importorskip("duckdb").read_parquet(str(path / "*.parquet"))


def as_polars(path):
    return pytest.importorskip("polars").scan_parquet(path / "*.parquet")


def read(path):
    return pd.concat([pd.read_parquet(one) for one in sorted(path.iterdir())], ignore_index=True)


SOURCES = {
    "folder": str,
    "path": lambda path: path,
    "pattern": lambda path: str(path / "*.parquet"),
    "function": lambda path: lambda: (pd.read_parquet(one) for one in sorted(path.iterdir())),
    "list": lambda path: [pd.read_parquet(one) for one in sorted(path.iterdir())],
    "duckdb": as_duckdb,
    "polars": as_polars,
}


def assert_same_fit(found, expected, tol=1e-10):
    for name, leaf in expected.stats.leaves():
        assert_allclose(dict(found.stats.leaves())[name], leaf, rtol=tol, atol=tol, err_msg=name)
    parts = ["mean", "gating", "sigma"]
    mine, theirs = (fit.summary().loc[parts] for fit in (found, expected))
    pd.testing.assert_frame_equal(mine, theirs, rtol=0.0, atol=tol, check_exact=False)


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    """Files, and the fit of a few passes to their rows in memory."""
    path = written(tmp_path_factory.mktemp("given"), table(600))
    model = bvb.DensityRegression(FORMULA, read(path), n_components=2, weights="w")
    return path, few_passes(model)


def few_passes(model):
    with pytest.warns(ConvergenceWarning):
        return model.fit(**{**QUICK, "restarts": 1}, max_iter=5)


MORE = {"path", "pattern", "list", "duckdb"}


@pytest.mark.parametrize(
    "kind", [pytest.param(k, marks=[pytest.mark.heavy] if k in MORE else []) for k in SOURCES]
)
def test_every_source_makes_the_fit_of_the_rows_in_memory(kind, given, monkeypatch):
    monkeypatch.setattr(representatives, "SAMPLE_ROWS", 100)
    path, expected = given
    model = bvb.DensityRegression(FORMULA, SOURCES[kind](path), n_components=2, weights="w")
    assert model.design.n_missing == expected.model.design.n_missing > 0
    assert_same_fit(few_passes(model), expected)


def test_few_rows_are_kept(folder):
    model = bvb.DensityRegression(FORMULA, folder, n_components=2)
    expected = bvb.DensityRegression(FORMULA, read(folder), n_components=2)
    before = model.design.all_rows.count.times
    fit = model.fit(**QUICK)
    assert model.design.all_rows.count.times == before == 3
    assert_array_equal(fit.stats.to_vector(), expected.fit(**QUICK).stats.to_vector())


LEARNING = [
    "y ~ bs(x, df=5) + poly(z, 2) + C(g, contr.sum) | gating(standardize(x))",
    "y ~ s(x, k=6, by=g) + center(np.exp(z)) | gating(scale(x, ddof=0) + bs(z, df=4, degree=2))",
    "y ~ x + (x | g) + (0 + side | g) + offset(z) | gating(z)",
    "y ~ 0 + x + s(z) | gating(1)",
    "y ~ x * g + I(x**2) + z | gating(x * z)",
]


@pytest.mark.parametrize(
    "formula", [LEARNING[0], *(pytest.param(one, marks=pytest.mark.heavy) for one in LEARNING[1:])]
)
@pytest.mark.heavy
def test_what_a_formula_learns_is_learned_in_passes(formula, folder, monkeypatch):
    monkeypatch.setattr(representatives, "SAMPLE_ROWS", 150)
    model = bvb.DensityRegression(formula, folder, n_components=2)
    expected = bvb.DensityRegression(formula, read(folder), n_components=2)
    assert model.design.terms == expected.design.terms
    rows, whole = model.all_rows.whole(), expected.source.whole()
    for part, matrix in whole.designs.items():
        assert_allclose(rows.designs[part], matrix, rtol=1e-10, atol=1e-11)
    assert_allclose(rows.response, whole.response, rtol=1e-12, atol=1e-12)
    for part, scaling in expected.scales.parts.items():
        assert_allclose(model.scales.parts[part].scale, scaling.scale, rtol=1e-10)


@pytest.mark.parametrize("family", ["gaussian", "student"])
@pytest.mark.quick(family=("student",))
def test_many_blocks_make_the_same_bits(family, monkeypatch):
    monkeypatch.setattr(frame_streams, "FRAME_ROWS", 3000)
    monkeypatch.setattr(representatives, "SAMPLE_ROWS", 500)
    frame = table(2 * BLOCK_ROWS + 100)
    options = {"n_components": 2, "family": family}
    model = bvb.DensityRegression("y ~ x", lambda: pieces(frame, 4), **options)
    once = {**QUICK, "restarts": 1, "max_iter": 6}
    with pytest.warns(ConvergenceWarning):
        found = model.fit(**once, n_jobs=2)
        expected = bvb.DensityRegression("y ~ x", frame, **options).fit(**once, n_jobs=1)
    assert_array_equal(found.stats.to_vector(), expected.stats.to_vector())
    assert_array_equal(found.elbo_trace, expected.elbo_trace)


@pytest.fixture(scope="module")
def sampled():
    """Fit to rows of which a sample is in memory, and of all of them."""
    frame = table(2000)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(representatives, "SAMPLE_ROWS", 500)
        model = bvb.DensityRegression(FORMULA, lambda: pieces(frame), n_components=2)
    whole = bvb.DensityRegression(FORMULA, frame, n_components=2)
    quick = {"seed": 1, "restarts": 2, "draws": 100}
    return model.fit(**quick), whole.fit(**quick)


@pytest.mark.heavy
def test_predictions_are_those_of_all_rows(sampled):
    found, expected = sampled
    new = table(5, seed=3)
    each = [fit.predict(new, missing="keep") for fit in (found, expected)]
    assert_allclose(*each, rtol=1e-8)
    assert_allclose(found.log_density(new), expected.log_density(new), rtol=1e-8)


@pytest.mark.heavy
def test_rows_left_out_of_the_sample_are_left_out_of_the_fit_to_all_rows(sampled):
    found, expected = sampled
    rows = found.model.design.index
    each = read_elpd(expected.loo()).pointwise
    pointwise = pd.Series(each, expected.model.design.index)
    assert_allclose(read_elpd(found.loo()).pointwise, pointwise.loc[rows], atol=0.01)
    assert len(rows) == 500


@pytest.mark.heavy
def test_rows_and_passes_are_told(sampled):
    text = str(sampled[0])
    assert "rows of a function, read" in text
    assert "for 500 rows chosen at random" in text
    assert "5 dropped: missing values" in text


@pytest.mark.heavy
def test_what_is_said_by_row_is_of_the_sample(sampled, tmp_path):
    fit = sampled[0]
    assert len(fit.predict()) == len(fit.responsibilities()) == len(fit.pit()) == 500
    assert fit.check().attrs["verdict"] in ("ok", "note", "problem")
    assert bvb.effects.slopes(fit, wrt="x").summary.shape[0] == 500
    assert "a random sample of 500 rows" in fit.report(tmp_path / "page.html").read_text(
        encoding="utf-8"
    )


REFUSED = {
    "influence": lambda fit: fit.influence(),
    "robust": lambda fit: fit.with_covariance("robust"),
    "importance": lambda fit: fit.with_covariance("importance"),
    "khat": lambda fit: fit.khat,
    "exact": lambda fit: fit.loo(method="exact"),
    "groups": lambda fit: fit.loo(groups="g"),
    "calibrate": lambda fit: bvb.sbc(fit, replications=2),
    "cross_validate": lambda fit: bvb.cross_validate(fit.model),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_a_sample_cannot_tell_says_so(what, sampled):
    with pytest.raises(DataError, match="needs all rows in memory: "):
        REFUSED[what](sampled[0])


def broken(path):
    (path / "part-1.parquet").write_bytes(b"PAR1 nothing PAR1")
    return path


def cut(path):
    whole = (path / "part-1.parquet").read_bytes()
    (path / "part-1.parquet").write_bytes(whole[: len(whole) // 2])
    return path


def damaged(path):
    whole = bytearray((path / "part-1.parquet").read_bytes())
    whole[10:900] = bytes(890)
    (path / "part-1.parquet").write_bytes(whole)
    return path


def without_x(path):
    read(path).drop(columns="x").to_parquet(path / "part-9.parquet")
    return path


def x_as_text(path):
    read(path).assign(x="none").to_parquet(path / "part-9.parquet")
    return path


def empty(path):
    (path / "sub").mkdir()
    return path / "sub"


def without_rows(path):
    read(path).iloc[:0].to_parquet(path / "sub.parquet")
    return path / "sub.parquet"


def new_rows_each_time(path):
    calls = []

    def make():
        calls.append(1)
        return pieces(read(path).iloc[: 600 - len(calls)])

    return make


def new_level_later(path):
    calls = []

    def make():
        calls.append(1)
        frame = read(path)
        return pieces(frame if len(calls) < 4 else frame.assign(g="z"))

    return make


HOSTILE = {
    "no match": (lambda path: str(path / "*.pq"), "matches no file"),
    "no file": (lambda path: path / "none.parquet", "does not exist"),
    "empty folder": (empty, "a folder without Parquet files"),
    "not a Parquet": (broken, "part-1.parquet' is not a Parquet file, or damaged"),
    "half a file": (cut, "part-1.parquet' is not a Parquet file, or damaged"),
    "damaged inside": (damaged, "part-1.parquet' cannot be read"),
    "other columns": (without_x, "part-9.parquet' has no column `x`"),
    "other types": (x_as_text, "`x` is .*string in '.*part-9.parquet' and double"),
    "no rows": (without_rows, "the data have no rows"),
    "iterator": (lambda path: iter([read(path)]), "pass a function that returns one"),
    "no tables": (lambda path: lambda: 3, "a function that returns int"),
    "one table": (lambda path: lambda: read(path), "a function that returns DataFrame"),
    "no table at all": (lambda path: list, "cannot read data of type type"),
    "rows that change": (new_rows_each_time, "rows that can be used, and now have"),
    "levels that change": (
        new_level_later,
        "`g` has levels that are not in the data of the fit: 'z'",
    ),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_sources_end_with_one_message(what, folder, monkeypatch):
    monkeypatch.setattr(representatives, "SAMPLE_ROWS", 100)
    make, message = HOSTILE[what]
    with pytest.raises(DataError, match=message):
        bvb.DensityRegression(FORMULA, make(folder), n_components=2).fit(**QUICK)


UNLEARNED = {
    "cr(x, df=3)": "`cr.x, df=3.` cannot be computed .* its knots",
    "scale(center(x))": "transforms another transform",
    "bs(x, df=4, upper_bound=np.pi)": "options are not numbers",
    "f(x)": "`f.x.` depends on the rows that are read together",
}


@pytest.mark.parametrize("term", UNLEARNED)
def test_what_cannot_be_learned_in_passes_is_refused(term, folder):
    with pytest.raises(DataError, match=UNLEARNED[term]):
        bvb.DensityRegression(f"y ~ {term}", folder, context={"f": lambda x: x - x.mean()})


OPTIONS = {
    "group": ({"group": "g"}, "group='g' needs all rows in memory"),
    "sampling": ({"weights": "w", "weight_type": "sampling"}, "weight_type='sampling' needs all"),
    "numbers": ({"weights": np.ones(600)}, "name their column"),
    "absent": ({"weights": "v"}, "weights='v' is not a column"),
    "negative": ({"weights": "x"}, "weights='x': .* negative"),
    "missing": ({"missing": "raise"}, "5 of 600 rows lack a value: `x` in 5"),
    "n_components": ({"n_components": 10**4}, "n_components=10000 is more than"),
}


@pytest.mark.parametrize("what", OPTIONS)
def test_options_that_need_all_rows_are_refused(what, folder):
    options, message = OPTIONS[what]
    with pytest.raises(DataError, match=message):
        bvb.DensityRegression("y ~ z" if what == "negative" else "y ~ x", folder, **options)


def test_the_joint_density_is_of_all_rows(sampled):
    found, expected = (fit.model for fit in sampled)
    draws = expected.prior_draws(3, seed=1)
    assert_allclose(found.log_joint(draws), expected.log_joint(draws), rtol=1e-10)


def test_a_site_keeps_its_rows_in_memory(monkeypatch):
    monkeypatch.setattr(representatives, "SAMPLE_ROWS", 100)
    frame = table(300)
    with pytest.raises(DataError, match=r"site_statistics.. needs all rows in memory"):
        bvb.site_statistics(bvb.DensityRegression("y ~ x", frame), pieces(frame))


def test_only_the_columns_that_the_formula_names_are_read(folder, monkeypatch):
    from bayesvb.data.parquet_frames import ParquetFrames

    asked = []
    each = ParquetFrames.each

    def watched(self, names):
        asked.append(set(names))
        return each(self, names)

    monkeypatch.setattr(ParquetFrames, "each", watched)
    bvb.DensityRegression("y ~ x", folder)
    assert all(names == {"y", "x"} for names in asked[1:])
