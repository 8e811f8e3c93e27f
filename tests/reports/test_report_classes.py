"""Sections on classes: their numbers against independent computations, and the whole page."""

import re
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import isotonic_regression

import bayesvb as bvb
from bayesvb.data.blocks import Block
from bayesvb.data.sources import InMemorySource
from bayesvb.engines.folds import FOLDS, assigned, continued
from bayesvb.numerics.streams import Streams
from bayesvb.reports.cells.plain import plain
from bayesvb.reports.figures.class_regions import regions
from bayesvb.reports.figures.plot import _isotonic, apart
from bayesvb.reports.page import html, page_summary
from bayesvb.reports.sections import SECTIONS
from bayesvb.reports.sections.learning import pairs_of
from bayesvb.results.checks.accuracy import against_multinomial
from bayesvb.results.class_evaluation import held_out_classes, judged_classes
from bayesvb.results.limits import LIMITS

OWN = ("classes", "classification")
"""Sections that only classes have."""

LACKING = ("conditional", "calibration", "replicates", "accuracy")
"""Sections that make no sense for classes."""


@pytest.fixture(scope="module")
def fit(class_fit) -> bvb.Fit:
    return class_fit


@pytest.fixture(scope="module")
def sections(fit) -> dict[str, dict]:
    return {name: plain(SECTIONS[name].summary(fit)) for name in (*OWN, "components")}


@pytest.fixture(scope="module")
def left_out(fit):
    return held_out_classes(fit)


def cells(table: dict) -> dict[str, list]:
    return {row["heads"][0]: row["cells"] for row in table["rows"]}


@pytest.mark.heavy
def test_the_page_of_classes_has_its_sections_and_is_small(fit):
    text = html(page_summary({"": fit}))
    assert all(f'id="{name}"' in text for name in OWN)
    assert not any(f'id="{name}"' in text for name in LACKING)
    assert len(text.encode()) < 500 * 1024
    body = re.sub(r"<(script|svg|pre|code|style).*?</\1>", "", text, flags=re.DOTALL)
    shown = re.sub(r"<[^>]+>", " ", body)
    assert not re.search(r"\bnan\b|\binf\b|\bNone\b|\d[eE][+-]\d", shown)
    assert "2 of 2 restarts" in shown and "mean-field" in shown


KINDS = {
    "two classes, levels, weights": ("s ~ g", {"weights": "w"}),
    "no covariate": ("g ~ 1", {}),
    "a number and a response in parts": ("x + y ~ z", {}),
}


@pytest.mark.heavy
@pytest.mark.parametrize("kind", KINDS)
def test_the_page_of_every_kind_of_network_builds(kind):
    formula, options = KINDS[kind]
    rng = np.random.default_rng(3)
    x, z = rng.normal(size=(2, 40))
    columns = {"x": x, "z": z, "y": x + rng.normal(size=40), "w": 1.0 + (z > 0.0),
               "g": rng.choice(list("abc"), 40), "s": np.where(x > 0.2, "u", "v")}  # fmt: skip
    frame = pd.DataFrame(columns)
    model = bvb.ConditionalMixtureNetwork(formula, frame, n_experts=2, **options)
    summary = page_summary({"": model.fit(seed=1, restarts=1, draws=30)})
    text, found = html(summary), summary["fits"][0]["sections"]
    assert (set(OWN) <= set(found)) == ("parts" not in kind)
    assert (set(LACKING) <= set(found)) == ("parts" in kind)
    if "weights" in kind:
        assert "no row was left out" not in text and "Each row counts once" in text


@pytest.mark.heavy
def test_probabilities_of_the_table_are_those_of_the_fit(fit, sections):
    found = sections["classes"]
    along, other = found["along"], ({"sepal_length", "petal_width"} - {found["along"]}).pop()
    frame = fit.model.design.frame
    places = [float(row["heads"][0]) for row in found["table"]["rows"]]
    assert set(places[1:-1]) <= set(np.quantile(frame[along], [0.25, 0.5, 0.75]))
    assert f"averaged over the {len(frame)} rows" in found["table"]["caption"]
    each = [frame[[other]].assign(**{along: place}) for place in places]
    given_values = np.array([row["cells"] for row in found["table"]["rows"]], dtype=object)
    expected = [fit.predict(rows, kind="probability").mean() for rows in each]
    # the table averages the draws, 60 here: sds of 0.07 leave standard errors of 0.009
    assert given_values[:, ::2].astype(float) == pytest.approx(np.array(expected), abs=0.03)
    drawn = [fit.model.probability_draws(fit, rows, few_points=True).mean(axis=1) for rows in each]
    ends = np.array([[list(one) for one in row] for row in given_values[:, 1::2]])
    assert given_values[:, ::2].astype(float) == pytest.approx(np.mean(drawn, axis=1))
    for row, draws in zip(ends, drawn, strict=True):
        assert row.T == pytest.approx(np.quantile(draws, [0.055, 0.945], axis=0))


@pytest.mark.heavy
def test_the_code_of_the_page_says_how_restarts_were_combined(fit):
    assert "restarts=2, draws=60, combine='average', seed=1" in fit.code()
    stacked = fit.model.fit(seed=1, restarts=1, draws=30)
    assert "draws=30, seed=1" in stacked.code()


@pytest.mark.heavy
def test_the_page_says_which_prior_variances_count(fit):
    tried = SECTIONS["model"].summary(fit)["tried"]
    for part in fit.parts:
        assert f"{fit.restarts.loc[part.number, 'prior']} (weight 0.50)" in tried
    table = SECTIONS["computation"].summary(fit)["restarts"]
    assert table["titles"][:4] == ["initialisation", "prior", "weight", "LOO"]


@pytest.mark.heavy
def test_coefficients_that_are_not_identified_are_folded_away(fit):
    folded = {one["heading"]: one["table"]["folded"] for one in
              SECTIONS["posterior"].summary(fit)["parts"]}  # fmt: skip
    assert folded["Experts"] and folded["Output layer"] and not folded["Shares"]
    assert all(not pair.name.startswith(("mean", "output", "sigma")) for pair in pairs_of(fit))


@pytest.mark.heavy
def test_scores_are_those_of_the_rows_left_out(fit, sections, left_out):
    accuracy, log_density, brier = cells(sections["classification"]["scores"])[
        "this fit, held out"
    ][:3]
    p, happened = left_out.probabilities, np.eye(3)[left_out.codes]
    assert accuracy == pytest.approx(100.0 * (p.argmax(axis=1) == left_out.codes).mean())
    assert log_density == pytest.approx(np.log(p[happened == 1.0]).mean())
    assert brier == pytest.approx(((p - happened) ** 2).sum(axis=1).mean())
    own = cells(sections["classification"]["scores"])["this fit, own rows"]
    assert own[1] == pytest.approx(fit.log_density(fit.model.design.frame).mean())
    assert log_density < own[1]


@pytest.mark.heavy
@given(st.lists(st.integers(0, 3), min_size=5, max_size=60))
def test_every_fold_has_its_part_of_every_class(codes):
    block = Block({"mean": np.ones((1, len(codes)))}, np.array([codes], dtype=float))
    folds = assigned(InMemorySource((block,)))
    for label in set(codes):
        counts = np.bincount(folds[np.array(codes) == label], minlength=FOLDS)
        assert np.ptp(counts) <= 1


@pytest.mark.heavy
def test_an_ascent_that_goes_on_with_all_rows_stays_where_it_is_and_without_some_does_not(fit):
    one = fit.parts[0].fit
    fitted = one.predict(kind="probability").to_numpy()
    engine = one.engine, Streams(one.seed).branch("held out")
    same = replace(one, stats=continued(one.core, fit.model.source, one.stats, *engine))
    same = same.predict(kind="probability").to_numpy()
    # a converged ascent gains less than 1e-6 nats per row and pass
    assert np.abs(same - fitted).max() < 0.01
    fewer = fit.model.source.without(np.arange(1, fit.model.source.n_rows, 2))
    moved = replace(one, stats=continued(one.core, fewer, one.stats, *engine))
    moved = moved.predict(kind="probability").to_numpy()
    assert np.abs(moved - fitted).max() > 0.02


@pytest.mark.heavy
def test_rows_of_large_data_are_not_left_out_and_the_page_says_so(fit, monkeypatch):
    monkeypatch.setitem(vars(LIMITS), "fold_work", 1e3)
    members = tuple(replace(member, fit=replace(member.fit)) for member in fit.members)
    fresh = replace(fit, members=members)  # without what was judged before
    found = SECTIONS["classification"].summary(fresh)
    assert found["folds"] is None and found["baseline_prior"] is None
    assert "this fit, held out" not in cells(found["scores"])


@pytest.mark.heavy
def test_the_table_of_mistakes_counts_every_row_once(sections, left_out):
    table = sections["classification"]["confusion"]
    likely = left_out.probabilities.argmax(axis=1)
    for k, line in enumerate(table["lines"]):
        expected = [int(((left_out.codes == k) & (likely == c)).sum()) for c in range(3)]
        assert line["counts"] == expected and line["total"] == sum(expected)
        assert line["shares"] == pytest.approx(np.array(expected) / sum(expected))


def test_components_serve_the_rows_that_are_most_likely_theirs(fit, sections):
    table = sections["components"]["served"]
    frame = fit.components()
    held = {line["name"]: line["total"] for line in table["lines"]}
    assert held == {str(k): n for k, n in frame["rows"].items() if n}
    assert table["columns"] == list(fit.model.design.levels)


@pytest.mark.heavy
def test_classes_that_terms_separate_have_a_penalised_regression_beside_them():
    frame = pd.DataFrame({"x": np.r_[np.arange(10.0), np.arange(20.0, 30.0)], "c": list("ab" * 10)})
    frame["c"] = np.repeat(["a", "b"], 10)
    fit = bvb.ConditionalMixtureNetwork("c ~ x", frame, n_experts=1).fit(
        seed=1, restarts=1, draws=30
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = SECTIONS["classification"].summary(fit)
    assert "multinomial, held out" in cells(found["scores"])
    assert "chosen by cross-validation" in found["baseline_prior"]
    (test,) = against_multinomial(judged_classes(fit))
    assert np.isfinite(test.number) and "ridge-penalised" in test.name


@pytest.mark.heavy
def test_regions_are_drawn_for_two_numbers_and_name_their_classes(fit):
    found = regions(fit)
    assert {text for _, _, text, _ in found["inner_labels"]} == set(fit.model.design.levels)
    parts = [int(one) for one in re.findall(r"(\d+)%", found["alt"])]
    assert len(parts) == 3 and sum(parts) == pytest.approx(100, abs=2)


@given(st.lists(st.floats(-1.0, 1.0), min_size=1, max_size=9))
def test_labels_are_moved_by_isotonic_regression(values):
    found = _isotonic(np.array(values))
    np.testing.assert_allclose(found, isotonic_regression(values).x, atol=1e-12)


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=8))
def test_labels_keep_their_distance_and_their_order(request):
    found = apart(np.array(request), 0.1, 0.0, 1.0)
    order = np.argsort(request, kind="stable")
    assert (np.diff(found[order]) >= 0.1 - 1e-9).all()
    assert found.min() >= -1e-9 and found.max() <= 1.0 + 1e-9
