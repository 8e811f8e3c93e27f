"""ConditionalMixtureNetwork from formula to file: classes and numbers."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import bayesvb as bvb
from bayesvb.errors import ConvergenceWarning, DataError, DesignWarning, FormulaError, PriorError

FEW = {"restarts": 2, "draws": 60, "seed": 1, "max_iter": 60}


@pytest.fixture(scope="module")
def flowers():
    return bvb.datasets.load("iris").iloc[::3]


@pytest.fixture(scope="module")
def numbers():
    rng = np.random.default_rng(5)
    x = rng.uniform(-2.0, 2.0, 80)
    frame = {"x": x, "y": 30.0 + 10.0 * np.abs(x) + rng.normal(size=80), "z": np.cos(x)}
    return pd.DataFrame(frame)


def fitted(formula, data, *, n_experts=3, options=FEW, **arguments):
    """A fit that may stop early: what it means does not hang on convergence."""
    model = bvb.ConditionalMixtureNetwork(formula, data, n_experts=n_experts, **arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(**options)


@pytest.fixture(scope="module")
def fit(flowers):
    return fitted("label ~ .", flowers)


@pytest.fixture(scope="module")
def average(flowers):
    return fitted("label ~ .", flowers, options={**FEW, "combine": "average"})


@pytest.fixture(scope="module")
def line(numbers):
    return fitted("y ~ x", numbers)


# -- classes -------------------------------------------------------------------------------------


def test_probabilities_are_a_distribution_and_the_likely_class_is_found(fit, flowers):
    found = fit.predict(flowers, "probability")
    assert found.columns.tolist() == ["setosa", "versicolor", "virginica"]
    assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
    likely = fit.predict(flowers, "class")
    assert likely.index.equals(flowers.index)
    assert likely.astype(str).tolist() == found.idxmax(axis=1).tolist()
    assert (likely.astype(str) == flowers["label"].astype(str)).mean() > 0.9


def test_the_log_density_is_that_of_the_predicted_probability(average, flowers):
    found = average.predict(flowers, "probability").to_numpy()
    codes = flowers["label"].astype("category").cat.codes.to_numpy()
    expected = np.log(found[np.arange(len(codes)), codes])
    assert_allclose(average.log_density(flowers), expected, rtol=1e-12)
    assert_allclose(average.log_density(), expected, rtol=1e-9)


def test_restarts_are_averaged_in_probability(average, flowers):
    each = [member.fit.predict(flowers, "probability") for member in average.members]
    assert len(each) == 2
    assert_allclose(average.predict(flowers, "probability"), sum(each) / 2.0, rtol=1e-12)


def test_one_expert_is_a_logistic_regression_whose_likelihood_is_an_integral(flowers):
    """Two classes, one expert, one latent entry: the likelihood by quadrature."""
    two = flowers[flowers["label"] != "setosa"]
    found = fitted("label ~ petal_length + sepal_width", two, n_experts=1)
    posterior = found.posterior.isel(chain=0, draw=slice(0, 4))
    x = np.column_stack([np.ones(len(two)), two[["petal_length", "sepal_width"]]])
    location = posterior["beta"].to_numpy()[:, 0, 0] @ x.T
    sd = posterior["sigma"].to_numpy()[:, 0, 0]
    slope, intercept = posterior["output"].to_numpy()[:, 0].T
    nodes, weights = np.polynomial.hermite_e.hermegauss(81)
    logit = slope[:, None, None] * (location[..., None] + sd[:, None, None] * nodes)
    logit += intercept[:, None, None]
    first = (1.0 / (1.0 + np.exp(-logit))) @ weights / weights.sum()
    expected = np.where(two["label"] == "versicolor", first, 1.0 - first)
    likelihood = np.exp(found.idata.log_likelihood["label"].to_numpy()[0, :4])
    assert_allclose(likelihood, expected, atol=0.01)


def test_drawn_probabilities_are_those_of_the_draws(average, flowers):
    drawn = average.model.probability_draws(average, flowers)
    assert drawn.shape == (60, 50, 3)
    assert_allclose(drawn.sum(axis=2), 1.0)
    codes = flowers["label"].astype("category").cat.codes.to_numpy()
    given = drawn[:, np.arange(50), codes]
    assert_allclose(np.log(given), average.idata.log_likelihood["label"].to_numpy()[0], atol=1e-6)


def test_classes_of_numbers_come_back_as_numbers(flowers):
    data = flowers.assign(label=flowers["label"].astype("category").cat.codes.astype(int) + 4)
    found = fitted("C(label) ~ petal_length", data, n_experts=1, options={**FEW, "restarts": 1})
    likely = found.predict(data, "class")
    assert set(likely.cat.categories) == {4, 5, 6}
    assert (likely.astype(int) == data["label"]).mean() > 0.9


def test_the_arviz_object_holds_codes_and_axes(fit, flowers):
    idata = fit.idata
    assert idata.posterior["beta"].dims[2:] == ("component", "latent", "term_mean")
    assert idata.posterior["gamma"].dims[2:] == ("component_gating", "term_gating")
    assert idata.posterior["output"].dims[2:] == ("level", "term_output")
    codes = flowers["label"].astype("category").cat.codes
    assert_array_equal(idata.observed_data["label"], codes)
    drawn = idata.posterior_predictive["label"].to_numpy()
    assert set(np.unique(drawn)) <= {0.0, 1.0, 2.0}
    assert (drawn == codes.to_numpy()).mean() > 0.8
    assert json.loads(idata.attrs["options"])["n_experts"] == 3


@pytest.mark.heavy
def test_a_report_is_made_of_both_kinds(fit, line, tmp_path):
    text = fit.report(tmp_path / "a.html").read_text(encoding="utf-8")
    assert "one of the classes setosa, versicolor, virginica" in text
    assert "Conditional density" not in text
    text = line.report(tmp_path / "b.html").read_text(encoding="utf-8")
    assert "Conditional density" in text


def test_intervals_are_said_to_be_mean_field(fit):
    assert fit.covariance == "mean-field"
    assert "mean-field" in str(fit)
    assert "Priors in the units" in str(fit.model)


def test_tables_of_the_components(fit):
    assert fit.components()["rows"].sum() == 50
    assert_allclose(fit.responsibilities().sum(axis=1), 1.0)
    assert set(fit.summary().index.get_level_values("part")) == {
        "mean", "sigma", "gating", "output", "share",
    }  # fmt: skip


# -- numbers -------------------------------------------------------------------------------------


def test_a_numeric_response_has_a_density(line, numbers):
    at = line.predict(numbers, "density", at=numbers["y"])
    assert_allclose(line.log_density(numbers), np.log(at), rtol=1e-9)
    grid = np.linspace(-300.0, 400.0, 4001)
    density = line.predict(numbers.head(2), "density", at=grid.tolist())
    assert_allclose(density.sum(axis=1) * (grid[1] - grid[0]), 1.0, atol=0.01)
    assert line.predict(numbers, "component").shape == (80, 3)
    inside = line.predict(numbers, "cdf", at=numbers["y"])
    assert 0.4 < inside.mean() < 0.6


def test_predictions_agree_with_draws_of_the_parameters(line, numbers):
    values = line.idata.log_likelihood["y"].to_numpy()[0]
    averaged = np.log(np.exp(values).mean(axis=0)).mean()
    assert line.log_density().mean() == pytest.approx(averaged, abs=0.05)
    drawn = line.idata.posterior_predictive["y"].to_numpy()
    assert_allclose(drawn.mean(), numbers["y"].mean(), rtol=0.05)


def test_several_responses_are_described_jointly(numbers):
    found = fitted("y + z ~ x", numbers, n_experts=2, options={**FEW, "restarts": 1})
    assert found.model.latent_dim == 2
    assert found.log_density().notna().all()
    assert found.predict(response="z").shape == (80,)
    with pytest.raises(DataError, match="name one of"):
        found.predict()


# -- arguments -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"latent_covariance": "shared", "latent_posterior": "mean-field"},
            "does not depend on the expert",
        ),
        ({"latent_covariance": "ful"}, "did you mean 'full'"),
        ({"latent_posterior": "meanfield"}, "did you mean 'mean-field'"),
        ({"latent_dim": 0}, "latent_dim=0 must be at least 1"),
        ({"n_experts": 51}, "more than the 50"),
    ],
)
def test_what_does_not_go_together_is_refused(flowers, arguments, message):
    with pytest.raises(DataError) as caught:
        bvb.ConditionalMixtureNetwork("label ~ .", flowers, **arguments)
    assert message in str(caught.value)


def test_responses_that_make_no_sense(flowers, numbers):
    with pytest.raises(DataError, match="one class only"):
        bvb.ConditionalMixtureNetwork("label ~ .", flowers.head(10))
    named = flowers.assign(label=[f"row {i}" for i in range(50)])
    with pytest.raises(DataError, match="every row has its own"):
        bvb.ConditionalMixtureNetwork("label ~ .", named)
    with pytest.raises(DataError, match="already is one covariance per expert"):
        bvb.ConditionalMixtureNetwork("y ~ x", numbers, latent_covariance="shared")
    with pytest.warns(DesignWarning, match=r"write C\(g\)"):
        bvb.ConditionalMixtureNetwork("g ~ x", numbers.assign(g=np.arange(80) % 2))
    with pytest.raises(FormulaError, match="neither a column"):
        bvb.ConditionalMixtureNetwork("label ~ petal", flowers)
    with pytest.raises(PriorError, match="positive"):
        bvb.NetworkPriors(gating_variance=0.0)


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("mean", {}, "kind='probability' or kind='class'"),
        ("probabilty", {}, "did you mean 'probability'"),
        ("class", {"prob": 0.5}, "does not use prob"),
    ],
)
def test_predictions_of_classes_that_cannot_be_made(fit, kind, options, message):
    with pytest.raises(DataError) as caught:
        fit.predict(kind=kind, **options)
    assert message in str(caught.value)


def test_numbers_have_no_classes(line, fit):
    with pytest.raises(DataError, match="holds numbers"):
        line.predict(kind="class")
    with pytest.raises(DataError, match="not a density"):
        fit.predictive()


@pytest.mark.parametrize(("covariance", "posterior"), [
    ("diagonal", "conditional"), ("shared", "conditional"), ("full", "mean-field"),
])  # fmt: skip
@pytest.mark.quick(covariance=("diagonal",))
def test_every_latent_posterior_is_ordered_and_loaded(flowers, covariance, posterior, tmp_path):
    kind = {"latent_covariance": covariance, "latent_posterior": posterior}
    found = fitted("label ~ petal_length", flowers, options={**FEW, "restarts": 1}, **kind)
    again = bvb.load(found.save(tmp_path / "a.nc"))
    assert_allclose(again.log_density(), found.log_density(), rtol=1e-12)
    shares = found.components()["share"].to_numpy()
    assert (np.diff(shares) < 0.01).all()


def test_the_command_line_predicts_probabilities(fit, flowers, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    fit.save("a.nc")
    flowers.to_csv("new.csv", index=False)
    done = command("predict", "a.nc", "new.csv", "--kind", "probability")
    assert done.exit_code == 0, done.output
    assert done.output.splitlines()[0] == "setosa,versicolor,virginica"
    assert len(done.output.splitlines()) == 51


@pytest.mark.filterwarnings("ignore::bayesvb.errors.ConvergenceWarning")
def test_the_number_of_experts_is_selected(regimes):
    frame = regimes.assign(side=np.where(regimes["y"] > 0.0, "above", "below"))
    model = bvb.ConditionalMixtureNetwork("side ~ x", frame, n_experts=3)
    found = bvb.select(model, [1, 2], restarts=1, draws=25, max_iter=40, seed=1)
    assert [fit.model.n_experts for fit in found.fits.values()] == [1, 2]
    assert found.fits[2].idata.attrs["n_components"] == 2


def test_ordered_classes_are_told_of_the_family_that_uses_their_order(regimes):
    grade = pd.cut(regimes["y"], 3, labels=["low", "middle", "high"])
    with pytest.warns(DesignWarning, match="levels of `grade` are ordered.*family='ordinal'"):
        bvb.ConditionalMixtureNetwork("grade ~ x", regimes.assign(grade=grade))


def test_many_classes_with_hardly_a_row_are_told_with_a_remedy_that_works():
    label = np.repeat([f"c{i:02d}" for i in range(14)], [40, 20, *[3] * 12])
    data = pd.DataFrame({"x": np.arange(96.0), "label": label})
    told = "12 of the 14 classes of `label` have fewer than 5 rows"
    with pytest.warns(DesignWarning, match=told) as warned:
        bvb.ConditionalMixtureNetwork("label ~ x", data)
    remedy = str(warned[0].message).split("merge rare classes: ")[1]
    merged = data.assign(label=eval(remedy))
    assert merged["label"].value_counts().to_dict() == {"c00": 40, "other": 36, "c01": 20}
    bvb.ConditionalMixtureNetwork("label ~ x", merged)
    bvb.ConditionalMixtureNetwork("label ~ x", data[data["label"] < "c09"])
