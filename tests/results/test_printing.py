"""What ``print(model)`` and ``print(fit)`` show."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.evaluation.elpd import read_elpd
from bayesvb.formula.passes import representatives
from bayesvb.gates import GATES
from bayesvb.results import leave_one_out
from bayesvb.results import subsampling as affordable
from bayesvb.results.limits import LIMITS
from bayesvb.results.printing import khat_text

SIZES = {"DensityRegression": "n_components", "ConditionalMixtureNetwork": "n_experts"}


def test_a_model_shows_formula_data_and_priors(regimes):
    holes = regimes.assign(x=regimes["x"].where(regimes.index != 3))
    model = bvb.DensityRegression("y ~ x+z|gating(x)", holes, n_components=3)
    lines = str(model).splitlines()
    assert lines[:3] == [
        "Mixture of Gaussian linear regressions, 3 components, softmax gate",
        "Formula:   y ~ x + z | gating(x)",
        "Data:      149 rows (1 dropped: missing values of `x` in 1)",
    ]
    text = "\n".join(lines)
    assert "Priors in the units of the data" in text
    for (part, term), row in model.prior_table().iterrows():
        assert re.search(rf"{part} +{re.escape(term)} +{re.escape(row['prior'])}", text)
    assert repr(model) == str(model)
    assert "nan" not in text.lower()


@pytest.mark.parametrize("from_blocks", [False, True])
def test_columns_with_missing_values_are_named_before_and_after_saving(
    regimes, tmp_path, monkeypatch, from_blocks
):
    monkeypatch.setattr(representatives, "SAMPLE_ROWS", 60)
    holes = regimes.assign(
        x=regimes["x"].mask(regimes.index < 2), y=regimes["y"].mask(regimes.index.isin([1, 5, 7]))
    )
    data = (lambda: [holes[:50], holes[50:]]) if from_blocks else holes
    fit = bvb.DensityRegression("y ~ x + z", data, n_components=1).fit(seed=1, restarts=1, draws=50)
    told = "(4 dropped: missing values of `y` in 3, `x` in 2)"
    assert told in str(fit.model) and told in str(fit)
    assert told in str(bvb.load(fit.save(tmp_path / "fit.nc")))


def test_a_gate_that_was_filled_in_is_said(regimes):
    model = bvb.DensityRegression("y ~ x", regimes, n_components=2)
    assert "y ~ x | gating(x)   (no gating part: same terms as the mean)" in str(model)
    assert "no gating part" in str(model.fit(seed=1, restarts=1, draws=30))


@pytest.mark.parametrize("kind", ["DensityRegression", "ConditionalMixtureNetwork"])
def test_one_component_has_no_gate(regimes, kind):
    models = [getattr(bvb, kind)("y ~ x", regimes, **{SIZES[kind]: n}) for n in (1, 2)]
    one, two = ({part for part, _ in model.prior_table().index} for model in models)
    learned = {"scale", "gating scale", "between components", "common scale"}
    assert two - one == {"gating"} | (learned & two)
    assert "gating part" not in str(models[0])
    if kind == "DensityRegression":
        assert str(models[0]).splitlines()[0] == "Gaussian linear regression"


@pytest.mark.parametrize(
    ("dof", "title", "columns"),
    [
        (None, "nu (degrees of freedom)", ["Estimate", "Est.Error", "lower", "upper"]),
        (4.0, "nu (degrees of freedom: fixed, no interval)", ["Estimate"]),
    ],
)
@pytest.mark.quick(dof=(None,))
def test_what_components_share_is_shown_without_empty_columns(regimes, dof, title, columns):
    model = bvb.DensityRegression(
        "y ~ x", regimes, n_components=2, family="student", priors=bvb.Priors(dof=dof)
    )
    lines = str(model.fit(seed=1, restarts=1, draws=60)).splitlines()
    at = lines.index(title)
    assert lines[at + 1].split() == columns
    assert len(lines[at + 2].split()) == len(columns)


@pytest.mark.parametrize("gate", GATES)
@pytest.mark.quick(gate=("softmax", "dirichlet"))
def test_a_fit_shows_what_the_tables_hold(regimes, gate):
    model = bvb.DensityRegression("y ~ x | gating(x)", regimes, n_components=2, gate=gate)
    fit = model.fit(seed=5, restarts=2, draws=60, covariance="linear-response")
    text = str(fit)
    assert type(fit).__repr__ is type(fit).__str__
    lines = text.splitlines()
    assert lines[1:4] == [
        "Formula:   y ~ x | gating(x)",
        "Data:      150 rows",
        "Draws:     60 (linear-response), seed 5",
    ]
    close = int((fit.restarts["elbo"] > fit.restarts["elbo"].max() - 0.1).sum())
    assert lines[4] == (
        f"Fit:       ELBO {fit.elbo:,.1f}, converged after {fit.n_iter} iterations, "
        f"best of 2 restarts ({close} within 0.1 nats)"
    )
    assert f"k-hat {khat_text(fit.khat)}, " in lines[5]
    assert "Components (89% intervals)" in lines
    table = fit.summary()
    for component, term in table.loc["mean"].index:
        estimate = f"{table.loc['mean'].loc[(component, term), 'mean']:.4g}"
        assert re.search(rf"{component} +{term} +{re.escape(estimate)} ", text)
    meaning = fit.core.coefficient_meaning()
    own = bool(fit.core.gate_coefficients(fit.draws))
    assert (f"gating ({meaning})" in lines) == own
    notes = [] if own else [f"Weights of the components: {meaning}."]
    assert text.count(meaning) == 1
    last = len(lines) - 2 - len(notes)
    assert re.search(r"LOO elpd -?[\d,]+\.\d \(se [\d,]+\.\d\), p -?\d+\.\d[.,]", lines[last - 1])
    assert lines[last] == "Intervals have the linear-response covariance of all parameters."
    assert lines[last + 1 : -1] == notes
    narrow = str(fit.with_covariance("mean-field")).splitlines()[last]
    assert narrow == ("Intervals are mean-field, usually narrower than exact ones.")
    assert lines[-1] == "Components are sorted by share."


def test_a_stack_of_one_restart_says_that_it_predicts_best(regimes):
    model = bvb.DensityRegression("y ~ x", regimes, n_components=2)
    fit = model.fit(combine="stack", restarts=2, seed=1, draws=30)
    assert f"restart {fit.best_restart} of 2, the best on held-out rows" in str(fit)


def test_one_component_has_no_empty_tables(regimes):
    fit = bvb.DensityRegression("y ~ x", regimes, n_components=1).fit(seed=1, restarts=1, draws=50)
    text = str(fit)
    assert "gating (" not in text
    assert "sorted by share" not in text
    assert "Weights of the components" not in text


def test_the_k_of_the_approximation_is_not_that_of_exact_intervals(regimes):
    model = bvb.DensityRegression("y ~ x | gating(x)", regimes, n_components=2)
    fit = model.fit(seed=1, restarts=1, draws=200)
    assert fit.covariance == "exact" and "k-hat" not in str(fit)
    assert len(re.findall(r"\bk\b", str(fit))) == 1  # of the importance weights of the draws
    assert f"k-hat {khat_text(fit.khat)}, " in str(fit.with_covariance("linear-response"))


@pytest.mark.parametrize(
    ("formula", "n_components", "varying"),
    [("y ~ s(x)", 1, "over basis functions"),
     ("y ~ C(g)", 1, "around zero"), ("y ~ x + (1 | g)", 2, "over components and between groups")],
)  # fmt: skip
def test_headings_of_scales_say_what_coefficients_differ_over(
    regimes, formula, n_components, varying
):
    data = regimes.assign(g=[f"g{i % 6}" for i in range(len(regimes))])
    priors = bvb.Priors(scales="learned")
    model = bvb.DensityRegression(formula, data, n_components=n_components, priors=priors)
    text = str(model.fit(seed=1, restarts=1, draws=50, covariance="mean-field"))
    noise = f"coefficients {varying}, in units of each component's noise"
    assert f"scale (prior sd of a term's {noise} per sd of the column)" in text


def test_a_heading_of_groups_names_the_units_of_their_sd(regimes):
    data = regimes.assign(g=[f"g{i % 6}" for i in range(len(regimes))], n=[1, 0, 2] * 50)
    model = bvb.DensityRegression("n ~ x + (1 | g)", data, n_components=1, family="poisson")
    assert str(model).splitlines()[0] == "Poisson regression"
    text = str(model.fit(seed=1, restarts=1, draws=50, covariance="mean-field"))
    assert "scale (sd of a term's coefficients between groups, in units of the linear pred" in text


def test_long_tables_are_cut_and_say_so(rng):
    columns = {f"x{i}": rng.normal(size=120) for i in range(LIMITS.printed_rows + 5)}
    data = pd.DataFrame({"y": rng.normal(size=120), **columns})
    fixed = bvb.Priors(scales="fixed")  # without rows that are refitted
    model = bvb.DensityRegression("y ~ . | gating(1)", data, n_components=1, priors=fixed)
    n_more = len(model.prior_table()) - LIMITS.printed_rows
    assert f"... {n_more} more: model.prior_table()" in str(model)
    text = str(model.fit(seed=1, restarts=1, draws=30))
    assert "... 6 more: fit.summary()" in text
    assert f"x{LIMITS.printed_rows + 4}" not in text.split("mean\n")[1]


@pytest.mark.parametrize(
    ("khat", "words"),
    [(np.nan, "exact to 0.05 sd"), (0.2, "0.20 (good)"), (0.6, "0.60 (usable)"),
     (0.9, "0.90 (unreliable: importance weighting not possible)")],
)  # fmt: skip
def test_k_hat_in_words(khat, words):
    assert khat_text(khat) == words


# -- many rows -----------------------------------------------------------------------------------


@pytest.fixture
def few_seconds(regimes_fit, monkeypatch):
    """Limits that 150 rows, two components and 200 draws exceed."""
    assert regimes_fit.draws  # which others share: made before the limits are lower
    monkeypatch.setitem(vars(LIMITS), "quick_subsample", 100)
    monkeypatch.setitem(vars(LIMITS), "little_work", 150.0 * 2 * 120)


def test_with_many_rows_loo_and_khat_are_of_some_of_them(regimes, few_seconds):
    fixed = bvb.Priors(scales="fixed")  # without rows that are refitted
    model = bvb.DensityRegression("y ~ x + z | gating(x)", regimes, n_components=2, priors=fixed)
    fit = model.fit(seed=1, restarts=2, draws=200, covariance="linear-response")
    text = str(fit)
    chosen = affordable.sample(fit, 100)
    with affordable.ignoring_user_warnings():
        some = read_elpd(fit.loo()).pointwise[chosen.at]
    assert f"LOO elpd per row {some.mean():.3f} (se {some.std(ddof=1) / 10.0:.3f})" in text
    assert "from 100 rows chosen at random; fit.loo() takes all." in text
    k, n_draws = affordable.khat_within(fit, LIMITS.little_work)
    assert n_draws == 120 and f"k-hat {khat_text(k)} from 120 draws, " in text


def test_with_very_many_rows_it_says_how_many_the_criterion_takes(
    regimes_fit, few_seconds, monkeypatch
):
    monkeypatch.setitem(vars(LIMITS), "all_rows", 149)
    monkeypatch.setitem(vars(LIMITS), "subsample", 120)
    assert "rows chosen at random; fit.loo() takes 120." in str(regimes_fit)


def test_with_too_many_rows_khat_is_not_printed(regimes_fit, few_seconds, monkeypatch):
    monkeypatch.setitem(vars(LIMITS), "little_work", 150.0 * 2 * 99)
    assert "k-hat" not in str(regimes_fit)


@pytest.mark.heavy
def test_a_network_that_left_no_rows_out_refers_to_its_loo(class_fit):
    fresh = replace(class_fit, members=tuple(
        replace(member, fit=replace(member.fit, held_out=None)) for member in class_fit.members
    ))  # fmt: skip
    assert "LOO: not computed; fit.loo() uses five folds." in str(fresh)
    fresh.loo()
    assert "by five folds." in str(fresh)


@pytest.mark.parametrize(
    ("limit", "family"),
    [("most_entries", "gaussian"), ("most_products", "gaussian"), ("work", "student")],
)
def test_a_fit_with_very_many_statistics_refers_to_its_loo(limit, family, regimes, monkeypatch):
    model = bvb.DensityRegression("y ~ x + z | gating(x)", regimes, n_components=2, family=family)
    fit = model.fit(seed=1, restarts=1, draws=60)
    monkeypatch.setitem(vars(LIMITS if limit == "work" else leave_one_out.REFITS), limit, 10)
    assert "LOO: not computed (too many terms" in str(fit)
    fit.loo()
    assert "LOO elpd " in str(fit)


def test_printing_makes_no_long_refits(regimes, monkeypatch):
    fit = bvb.DensityRegression("y ~ x + z | gating(x)", regimes, n_components=2).fit(
        seed=1, restarts=1, draws=60
    )
    monkeypatch.setitem(vars(leave_one_out.REFITS), "indirect", 0.001)
    monkeypatch.setitem(vars(leave_one_out.REFITS), "printed", 0.0)
    with monkeypatch.context() as patch:
        patch.setattr(leave_one_out, "refitted", None)  # a refit would fail
        line = re.search("LOO: not computed; fit.loo\\(\\) refits (\\d+) rows.", str(fit))
    assert line is not None
    rows = int(line[1])
    assert fit.rows_left_out.refitted.sum() == rows
    assert f"{rows} rows refitted" in str(fit)


def test_khat_of_all_draws_is_that_of_the_fit(regimes_fit, class_fit):
    assert affordable.khat_within(regimes_fit, 1e9)[0] == regimes_fit.khat
    # Parameters that mean nothing one by one are not judged.
    assert affordable.khat_within(class_fit, 1e9) == (None, 0)


@pytest.mark.parametrize(("levels", "said"), [(20, True), (12, True), (9, False)])
def test_columns_of_many_levels_are_told(levels, said):
    """Many are more than 15, or than a tenth of the rows."""
    rng = np.random.default_rng(1)
    city = [f"c{k % levels}" for k in range(100)]
    data = {"y": rng.normal(size=100), "city": city}
    text = str(bvb.DensityRegression("y ~ city | gating(1)", data, n_components=1))
    assert (f"{levels} of `city`" in text) == said
    assert ("(1 | city) takes them" in text) == said
    learned = bvb.DensityRegression(
        "y ~ city | gating(1)", data, n_components=1, priors=bvb.Priors(scales="learned")
    )
    assert ("share one learned scale" in str(learned)) == said
    assert "of `city`" not in str(bvb.DensityRegression("y ~ (1 | city) | gating(1)", data))


@pytest.mark.parametrize(
    ("formula", "shown"),
    {
        "y ~ x": "y ~ x\n",
        "y ~ x | gating(1)": "y ~ x   (one component: the gate is not used)\n",
    }.items(),
)
def test_one_component_tells_no_gate_that_it_does_not_use(formula, shown):
    data = pd.DataFrame({"x": np.arange(20.0), "y": np.sin(np.arange(20.0))})
    model = bvb.DensityRegression(formula, data, n_components=1)
    assert f"Formula:   {shown}" in str(model)
    assert f"Formula:   {shown}" in str(model.fit(seed=1, restarts=1, draws=50))
    two = str(bvb.DensityRegression(formula, data, n_components=2))
    assert "| gating(" in two and "is not used" not in two


def test_control_characters_of_names_and_levels_reach_no_terminal():
    rng = np.random.default_rng(0)
    levels = ["\x1b[31mred", "b\x1b]0;title\x07", "\u202eleft"]
    data = pd.DataFrame(
        {"y": rng.normal(size=30), "g": levels * 10, "\x1b[2Jx": rng.normal(size=30)}
    )
    fit = bvb.DensityRegression("y ~ .", data, n_components=1).fit(seed=1, restarts=1, draws=50)
    effects = bvb.effects.predictions(fit, ["g"])
    shown = (fit, fit.model, effects, fit.check(), fit.summary(), fit.prior_sensitivity())
    texts = [text for one in shown for text in (str(one), repr(one), one._repr_html_())]
    for text in (*texts, fit.report_text(), fit.table()):
        assert text.count("\n") > 0 and not set(text) & set("\x1b\x07\u202e")


def test_one_component_is_printed_as_a_regression():
    data = bvb.datasets.load("faithful")
    model = bvb.DensityRegression("waiting ~ eruptions", data, n_components=1)
    text = str(model.fit(seed=1, draws=50))
    assert "component" not in text and "share" not in text
    assert "\nmean\n" in text and "\nsigma (standard deviation" in text


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_saturated_model_says_that_the_prior_predicts():
    data = pd.DataFrame({"k": [5, 30, 20, 8], "n": [40, 60, 50, 70], "g": list("abcd")})
    model = bvb.DensityRegression("k | trials(n) ~ g", data, n_components=1, family="binomial")
    assert "more than rows: the prior predicts the held-out rows." in str(model.fit(seed=1))
