"""Every section on every kind of fit: plain values, and a template that shows them."""

import json
import re
import warnings
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.signal import find_peaks
from scipy.stats import skew

import bayesvb as bvb
from bayesvb.errors import DesignWarning
from bayesvb.evaluation.calibration import calibration
from bayesvb.evaluation.elpd import read_elpd
from bayesvb.reports.figures.clusters import ellipse
from bayesvb.reports.page import html, page_summary
from bayesvb.reports.rows import sampling
from bayesvb.reports.sections import SECTIONS, computation, conditional, learning
from bayesvb.reports.sections.exact import drawn_densities, outline
from bayesvb.reports.sections.replicates import STATISTICS, density, replicated
from bayesvb.reports.sections.verdict import verdict
from bayesvb.results import subsampling as affordable
from bayesvb.results.checks.base import Check
from bayesvb.results.limits import LIMITS


def frame(n: int = 80) -> pd.DataFrame:
    rng = np.random.default_rng(4)
    x, z = rng.normal(size=(2, n))
    jumps = rng.random(n) < 1.0 / (1.0 + np.exp(-2.0 * x))
    group = pd.Categorical(rng.choice(list("abc"), n))
    y = np.where(jumps, 2.0 * x, -x) + (group == "a") + 0.3 * rng.normal(size=n)
    columns = {"x": x, "z": z, "g": group, "s": rng.choice(["u", "v"], n), "b": z > 0.5,
               "k": rng.integers(0, 2, n), "y": y, "y2": y**2 + rng.normal(size=n),
               "w": rng.integers(1, 4, n).astype(float), "i": np.arange(n) // 4}  # fmt: skip
    return pd.DataFrame(columns)


FITS = {
    "one covariate": ("y ~ x", {}),
    "no covariate": ("y ~ 1", {"gate": "dirichlet"}),
    "one component": ("y ~ x", {"n_components": 1}),
    "many components": ("y ~ x | gating(1)", {"n_components": 20}),
    "many covariates": ("y ~ g + x + z + s + b + k + C(k):z | gating(x + g)", {}),
    "transforms": ("log(y2 + 9) ~ bs(x, df=4) + np.exp(z) | gating(0 + z)", {"weights": "w"}),
    "sticks": ("y ~ x", {"gate": "stick-breaking", "n_components": 3}),
    "two responses": ("y + y2 ~ x", {}),
    "few rows": ("y ~ x", {"rows": 30, "index": True, "holes": True}),
    "three rows": ("y ~ 1", {"rows": 3, "n_components": 1}),
    "variables": ("~ x + y", {}),
    "groups": ("y ~ x | gating(1)", {"group": "i"}),
    "scores": ("~ x + z + y + y2", {"model": "BayesianPCA"}),
    "scores with holes": ("~ x + z + y", {"model": "BayesianPCA", "holes": True}),
    "one sample": ("y ~ 1", {"model": "Normal"}),
}


OWN = (
    "pairs", "scores", "exact", "classes", "classification", "audit", "trajectories", "survival",
)  # fmt: skip
"""Sections of one kind of model or response, or of a fit that was audited."""

SOME_LACK = (
    "conditional", "effects", "calibration", "components", "learning", "influence", "sensitivity",
    *OWN,
)  # fmt: skip
"""Sections that some fits do not have."""


def fitted(formula: str, options: dict[str, object]) -> bvb.Fit:
    name = options.get("model", "DensityRegression" if formula[0] != "~" else "GaussianMixture")
    options = {**({} if name == "Normal" else {"n_components": 2}), **options}
    options.pop("model", None)
    data = frame().iloc[: options.pop("rows", 80)]
    if options.pop("holes", False):
        data = data.assign(x=data["x"].where(data["z"] < 1.0))
    if options.pop("index", False):
        data = data.set_index(["s", "k"])
    make = getattr(bvb, name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DesignWarning)
        return make(formula, data, **options).fit(seed=1, restarts=2, draws=50)


@pytest.fixture(scope="module", params=FITS)
def kind(request) -> str:
    return request.param


@pytest.fixture(scope="module")
def summary(kind):
    return page_summary({"": fitted(*FITS[kind])})


@pytest.fixture(scope="module")
def text(summary) -> str:
    return html(summary)


@pytest.fixture(scope="module")
def plain_fit() -> bvb.Fit:
    return fitted(*FITS["one covariate"])


def pieces(value, key):
    """All dictionaries below a value that have this key."""
    if isinstance(value, dict):
        if key in value:
            yield value
        for one in value.values():
            yield from pieces(one, key)
    elif isinstance(value, list):
        for one in value:
            yield from pieces(one, key)


@pytest.mark.heavy
def test_only_several_components_have_a_gate(kind, text):
    if "DensityRegression" in text:
        alone = FITS[kind][1].get("n_components") == 1
        assert ("Gate: " in text) != alone
        assert ("A linear regression, " in text) == alone


@pytest.mark.quick(kind=("few rows",))
@pytest.mark.parametrize("name", SECTIONS)
def test_a_section_is_plain_and_its_template_shows_it(name, summary, text):
    found = summary["fits"][0]["sections"].get(name)
    if found is None:  # does not apply, and the page has no trace of it
        assert f'id="{name}"' not in text and name in SOME_LACK
        return
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    for figure in pieces(found, "legend"):
        drawings = figure.get("drawings", [figure])
        assert all(one["drawing"] in text for one in drawings)
        assert figure["alt"] and figure["caption"].endswith(".")
    for table in pieces(found, "rows"):
        if "heads" in table:
            assert f'id="{table["id"]}-caption"' in text
            assert {len(row["cells"]) for row in table["rows"]} == {len(table["titles"])}


@pytest.mark.heavy
def test_the_page_closes_its_tags_and_keeps_its_ids_apart(text):
    class Balance(HTMLParser):
        depth = 0
        ids: list[str]

        def handle_starttag(self, tag, attrs):
            self.depth += tag != "meta"
            self.ids += [value or "" for name, value in attrs if name == "id"]

        def handle_startendtag(self, tag, attrs):
            self.ids += [value or "" for name, value in attrs if name == "id"]

        def handle_endtag(self, tag):
            self.depth -= 1

    page = Balance()
    page.ids = []
    page.feed(text)
    assert page.depth == 0 and len(page.ids) == len(set(page.ids))
    assert len(text.encode()) < 750 * 1024  # two responses have every picture twice


@pytest.mark.heavy
def test_no_number_of_a_page_is_written_in_the_style_of_code(text):
    body = re.sub(r"<(script|svg|pre|code|style).*?</\1>", "", text, flags=re.DOTALL)
    shown = re.sub(r"<[^>]+>", " ", body)
    assert not re.search(r"\bnan\b|\binf\b|\bNone\b|\bTrue\b(?! \()|\d[eE][+-]\d", shown)


@pytest.mark.heavy
def test_the_verdict_box_holds_every_check_with_its_section(summary):
    fit = summary["fits"][0]
    box = fit["verdict"]
    rows = box["table"]["rows"]
    names = [row["heads"][0] for row in rows]
    grades = [row["cells"][1] for row in rows]
    assert "Convergence" in names
    if "calibration" in fit["sections"] and "Enough rows" not in names:
        assert any(name.startswith("Tails") for name in names)
        assert "Compared with least squares" in names
    assert {one["name"] for one in box["checks"]} == {
        name for name, grade in zip(names, grades, strict=True) if grade != "ok"
    }
    for one in box["checks"]:
        assert one["grade"] in ("note", "problem") and one["threshold"] and one["remedy"]
        assert one["section"] in fit["sections"]
    assert sum(group["n"] for group in box["groups"]) == len(names)
    assert sum(group["passed"] for group in box["groups"]) == grades.count("ok")


def one_check(grade, group="fit", *, weighs=True):
    return Check("Tails", group, grade, 0.2, "excess kurtosis", 0.5, "note: p < 0.1", "Do so.",
                 "calibration", weighs)  # fmt: skip


@pytest.mark.heavy
def test_the_worst_check_decides_and_groups_are_judged_apart():
    both = verdict([one_check("note"), one_check("problem", "accuracy")])
    assert both["worst"] == "problem"
    assert {one["name"]: one["grade"] for one in both["groups"]} == {
        "fit": "note", "accuracy": "problem",
    }  # fmt: skip
    assert verdict([one_check("ok")])["says"] == "All checks passed."
    assert verdict([one_check("ok"), one_check("note", weighs=False)])["worst"] == "ok"
    assert [one["grade"] for one in both["checks"]] == ["problem", "note"]


def test_the_verdict_says_what_intervals_are_made_of_and_how_far_they_carry():
    def notes(**facts):
        computation = {
            "covariance": "linear-response", "failure": None, "khat": 0.3, "n_near": 3,
            "n_restarts": 8, "combined": None, "khat_draws": 1000, "identified": True, **facts,
        }  # fmt: skip
        return " ".join(verdict([one_check("ok")], computation)["notes"])

    good = notes()
    assert "5 of 8 restarts are combined by weight" in notes(combined=5)
    assert "linear-response covariance" in good
    assert "k-hat 0.30 (Monte Carlo error 0.13)" in good
    assert "draws are available" in good
    assert "3 of 8 restarts end within a nat of the best bound" in good
    assert "draws are not available" in notes(khat=0.9)
    failed = notes(covariance="mean-field", failure="it was not asked for", n_near=1)
    assert "too narrow (linear response: it was not asked for)." in failed
    assert "1 of 8 restarts ends within a nat" in failed
    assert "robust covariance" in notes(covariance="robust")
    assert "exact to 0.05" in notes(khat=float("nan")) and "not computed" in notes(khat=None)
    assert "k-hat" not in notes(khat=None, identified=False)


@pytest.mark.heavy
def test_the_caption_of_restarts_says_by_what_they_are_ranked():
    data = pd.DataFrame({"x": np.linspace(-2, 2, 60)})
    data["y"] = np.where(data["x"] > 0, 3.0, -3.0) + np.sin(9 * data["x"])
    fit = bvb.DensityRegression("y ~ x", data, n_components=3, gate="softmax-bouchard").fit(
        seed=1, restarts=2, draws=50, covariance="mean-field"
    )
    assert "largest score" in computation.summary(fit)["restarts"]["caption"]
    assert (
        "after components were pruned" in computation.summary(bvb.prune(fit))["restarts"]["caption"]
    )


@pytest.mark.heavy
def test_large_data_are_thinned_and_the_page_says_so(monkeypatch, plain_fit):
    monkeypatch.setattr(sampling, "ROWS_CHECKED", 40)
    for module in ("calibration", "replicates"):
        monkeypatch.setattr(f"bayesvb.reports.sections.{module}.ROWS_CHECKED", 40)
    monkeypatch.setattr("bayesvb.reports.sections.accuracy.ROWS_LEFT_OUT", 35)
    monkeypatch.setattr("bayesvb.reports.sections.conditional.POINTS_SHOWN", 25)
    monkeypatch.setattr("bayesvb.reports.sections.data.POINTS_SHOWN", 25)
    monkeypatch.setitem(vars(LIMITS), "little_work", 80.0 * 2 * 20)
    text = html(page_summary({"": replace(plain_fit)}))  # no parts are kept yet
    for words in ("40 of 80 rows", "35 of 80 rows", "25 of 80 rows", "k-hat was not computed"):
        assert words in text


@pytest.mark.heavy
@pytest.mark.parametrize("weighted", [True, False])
def test_where_rows_count_once_the_page_says_so(weighted):
    data = pd.DataFrame({"x": np.linspace(-2.0, 2.0, 60)})
    data["y"] = data["x"] + np.sin(9.0 * data["x"])
    weights = np.arange(60) % 3 + 0.5 if weighted else None
    options = {"n_components": 1, "weights": weights}
    ask = {"seed": 1, "restarts": 1, "draws": 50}
    line = bvb.DensityRegression("y ~ x", data, **options).fit(**ask)
    joint = bvb.GaussianMixture("~ x + y", data, **options).fit(**ask)
    text = html(page_summary({"": line})), html(page_summary({"": joint}))
    places = [page.count("Each row counts once here, whatever its case weight.") for page in text]
    assert places == ([2, 2] if weighted else [0, 0])


@pytest.mark.heavy
def test_a_fit_that_was_saved_has_the_same_page(plain_fit, tmp_path):
    path = plain_fit.save(tmp_path / "fit.nc")
    assert html(page_summary({"": bvb.load(path)})) == html(page_summary({"": plain_fit}))


def test_a_sample_is_the_same_each_time_and_without_repetition(plain_fit):
    chosen = affordable.sample(plain_fit, 30)
    assert np.array_equal(chosen.at, affordable.sample(plain_fit, 30).at)
    assert len(set(chosen.at)) == 30 and (np.diff(chosen.at) > 0).all() and not chosen.whole
    assert (
        affordable.sample(plain_fit, 80).whole
        and sampling.choice_words(affordable.sample(plain_fit, 80)) == ""
    )


@pytest.mark.heavy
def test_criteria_on_all_rows_are_those_of_the_fit(plain_fit):
    at = affordable.sample(plain_fit, 10_000).at
    loo, waic = affordable.criteria_at(plain_fit, at)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        assert loo.pointwise == pytest.approx(read_elpd(plain_fit.loo()).pointwise, rel=1e-10)
        assert waic.elpd == pytest.approx(read_elpd(plain_fit.waic()).elpd, rel=1e-10)


@pytest.mark.heavy
def test_calibration_is_that_of_rows_left_out_and_crps_that_of_the_predictions(plain_fit):
    found = SECTIONS["calibration"].summary(plain_fit)["responses"][0]
    observed = plain_fit.model.design.response[:, 0]
    expected = calibration(plain_fit.predictive(), observed, pit=plain_fit.pit().to_numpy())
    assert found["p_value"] == expected.p_value
    assert found["crps"] == pytest.approx(expected.crps.mean())
    gaps = np.abs(observed[:, None] - observed[None]).mean() / 2.0
    assert found["crps_without_covariates"] == pytest.approx(gaps)


@pytest.mark.heavy
def test_p_values_count_the_replicated_sets_that_reach_the_observed_value(plain_fit):
    values = plain_fit.model.design.response[:, 0]
    sets = replicated(plain_fit, np.arange(len(values)))[:, 0]
    found = SECTIONS["replicates"].summary(plain_fit)["responses"][0]["statistics"]
    rows = {row["heads"][0]: row["cells"] for row in found["rows"]}
    assert rows["largest"][-1] == (sets.max(axis=1) >= values.max()).mean()
    assert rows["sd"][0] == pytest.approx(values.std(ddof=1), rel=1e-12)
    assert rows["sd"][-1] == (sets.std(axis=1, ddof=1) >= values.std(ddof=1)).mean()
    assert STATISTICS["skewness"](sets) == pytest.approx(skew(sets, axis=1))


@pytest.mark.heavy
def test_a_smoothed_density_is_that_of_the_kernel_estimate():
    rng = np.random.default_rng(2)
    values, points = rng.normal(size=(1, 400)), np.linspace(-6.0, 6.0, 400)
    found = density(values, points, 0.3)[0]
    exact = np.exp(-0.5 * ((points[:, None] - values) / 0.3) ** 2).mean(axis=1)
    exact /= 0.3 * np.sqrt(2.0 * np.pi)
    # binning moves a point by at most half a step, 0.015: 5 % of the width, second order
    assert found == pytest.approx(exact, abs=2e-3)


@pytest.mark.heavy
def test_the_exact_posterior_is_on_the_page_with_the_numbers_of_the_model():
    fit = fitted(*FITS["one sample"])
    found = SECTIONS["exact"].summary(fit)
    table = fit.model.exact(fit)
    shown = [row["cells"] for row in found["table"]["rows"]]
    assert shown == pytest.approx(table.to_numpy(), rel=1e-12)
    kl = found["divergences"]
    assert kl["log evidence"] - kl["bound"] == pytest.approx(kl["KL(q, exact)"], rel=1e-6)
    assert found["width_of_mean"] < 1.0


@pytest.mark.heavy
def test_the_contours_hold_the_posteriors_that_they_show():
    fit = fitted(*FITS["one sample"])
    densities = drawn_densities(fit.model, fit)
    cell = np.diff(densities.mean[:2]) * np.diff(densities.precision[:2])
    for log_density in (densities.exact, *densities.steps):
        assert np.exp(log_density).sum() * cell == pytest.approx(1.0, abs=0.02)


@pytest.mark.heavy
def test_a_variable_given_the_others_has_the_predictions_of_the_fit():
    fit = fitted(*FITS["variables"])
    found = SECTIONS["pairs"].summary(fit)
    shown = {row["heads"][0]: row["cells"] for row in found["table"]["rows"]}
    observed = fit.model.observed()
    assert list(shown) == list(observed)
    for name, values in observed.items():
        low, high = fit.predict(kind="interval", response=name, prob=0.9).to_numpy().T
        assert shown[name][3] == pytest.approx(100.0 * ((low <= values) & (values <= high)).mean())


@given(arrays(float, (2, 2), elements=st.floats(-3.0, 3.0)), st.floats(0.5, 3.0))
def test_an_ellipse_is_where_the_distance_is_that_of_its_name(root, deviations):
    covariance = root @ root.T + np.eye(2)
    centre = np.array([1.0, -2.0])
    away = ellipse(centre, covariance, deviations) - centre[:, None]
    distance = np.sqrt((away * np.linalg.solve(covariance, away)).sum(axis=0))
    assert distance == pytest.approx(deviations)


@pytest.mark.heavy
@pytest.mark.parametrize("name", ["scores", "scores with holes"])
def test_components_give_back_what_the_table_of_them_says(name):
    fit = fitted(*FITS[name])
    found = SECTIONS["scores"].summary(fit)
    observed = pd.DataFrame(fit.model.observed())
    given = fit.predict(kind="reconstruction").to_numpy()
    left = ((observed - given) ** 2).mean() / observed.var(ddof=0)
    shown = {row["heads"][0]: row["cells"] for row in found["explained"]["rows"]}
    assert [cells[0] for cells in shown.values()] == pytest.approx(1.0 - left.to_numpy())
    if "holes" in name:
        assert [cells[2] for cells in shown.values()] == observed.isna().sum().to_list()
    assert found["n_effective"] == fit.model.effective(fit)
    assert (found["n_missing"] > 0) == ("holes" in name)


@pytest.mark.heavy
@pytest.mark.parametrize(("name", "number"), [("scores", 2), ("one sample", 1), ("variables", 2)])
def test_components_are_counted_as_the_user_does(name, number):
    fit = fitted(*FITS[name])
    assert SECTIONS["model"].summary(fit)["n_components"] == number
    assert SECTIONS["computation"].summary(fit)["labelled"] == (number > 1)


@pytest.mark.heavy
@pytest.mark.parametrize("gate", ["softmax", "stick-breaking", "dirichlet"])
def test_priors_are_beside_the_posteriors_that_they_have_a_say_in(gate):
    rng = np.random.default_rng(1)
    x = rng.normal(size=200)
    data = pd.DataFrame({"x": x, "y": np.where(x > 0, 5.0 + x, -5.0) + rng.normal(size=200)})
    fixed = bvb.Priors(scales="fixed")
    model = bvb.DensityRegression("y ~ x", data, n_components=2, gate=gate, priors=fixed)
    fit = model.fit(seed=1, restarts=1, draws=400)
    found = learning.summary(fit)
    assert found["n_shown"] == 6 and found["n_all"] == len(learning.pairs_of(fit))
    assert len(json.dumps(found)) < 40_000
    by_name = {pair.name: pair for pair in learning.pairs_of(fit)}
    assert by_name["mean[1]: x"].ratio < 0.2 and "sigma[2]" in by_name
    prior = model.prior_table()  # the prior that is drawn is the one that is printed
    share = by_name["share[1]"].prior
    assert 0.0 <= share.min() and share.max() <= 1.0 and len(prior)
    strong = bvb.Priors(coefficient_sd=1e-3, scales="fixed")
    held = bvb.DensityRegression("y ~ x", data, n_components=2, gate=gate, priors=strong)
    widest = learning.summary(held.fit(seed=1, restarts=1, draws=400))
    assert widest["n_held"] >= 1


@pytest.mark.heavy
def test_a_model_without_prior_draws_has_no_such_section():
    data = pd.DataFrame({"y": np.arange(20.0) ** 1.5})
    assert learning.summary(bvb.Normal("y ~ 1", data).fit(seed=1, draws=50)) is None


def test_an_outline_is_where_a_density_falls_to_a_height():
    x, y = np.linspace(-3.0, 3.0, 61), np.linspace(-2.0, 2.0, 41)
    corners = outline(x, y, 1.0 - np.hypot(x / 2.0, y[:, None]) ** 2)
    assert [one[0] for one in corners] == [one[-1] for one in corners]  # it is closed
    np.testing.assert_allclose(np.hypot(corners[0] / 2.0, corners[1]), 1.0, atol=0.05)
    cut = outline(x[30:], y, 1.0 - np.hypot(x[30:] / 2.0, y[:, None]) ** 2)
    assert cut[0].min() == 0.0  # ends where the grid does


@given(st.lists(st.floats(0.0, 1.0), min_size=3, max_size=40, unique=True))
def test_humps_are_the_peaks_that_stand_out(heights):
    curve = np.array(heights)
    peaks, _ = find_peaks(np.pad(curve, 1), prominence=0.1)
    steps = np.abs(np.subtract.outer(np.append(curve, 0.0), np.append(curve, 0.0)))
    assume(np.abs(steps - 0.1).min() > 1e-9)
    assert conditional._humps(curve, 0.1) == len(peaks)
