"""Former names of public functions, arguments and attributes work, with a warning."""

import pytest
from pandas.testing import assert_frame_equal, assert_series_equal

import bayesvb as bvb
from bayesvb.estimators.fit import RENAMED

FUNCTIONS = {
    "calibrate": "sbc",
    "fit_of_sites": "fit_from_sites",
    "merge": "merge_site_statistics",
}


@pytest.mark.parametrize(("former", "name"), FUNCTIONS.items())
def test_functions(former, name):
    with pytest.warns(DeprecationWarning, match=f"bayesvb.{former} is called bayesvb.{name} now"):
        function = getattr(bvb, former)
    assert function is getattr(bvb, name)
    assert former not in dir(bvb) and name in dir(bvb)


@pytest.mark.parametrize(("former", "name"), RENAMED.items())
def test_attributes_of_fits(regimes_fit, former, name):
    with pytest.warns(DeprecationWarning, match=f"fit.{former} is called fit.{name} now"):
        value = getattr(regimes_fit, former)
    assert value == getattr(regimes_fit, name)
    assert former not in dir(regimes_fit)


def test_arguments(regimes, regimes_fit):
    expected = regimes_fit.predict(regimes[:3], "interval", recalibrate=True)
    with pytest.warns(DeprecationWarning, match=r"predict\(calibrated=\) is called recalibrate="):
        found = regimes_fit.predict(regimes[:3], "interval", calibrated=True)
    assert_frame_equal(found, expected)


@pytest.mark.parametrize(
    ("prior", "former", "name", "value"),
    [
        (bvb.Priors, "coefficients_in", "coefficient_units", "response"),
        (bvb.Priors, "even_sticks", "equal_prior_weights", False),
        (bvb.NetworkPriors, "even_sticks", "equal_prior_weights", False),
    ],
)
def test_priors(prior, former, name, value):
    with pytest.warns(
        DeprecationWarning, match=rf"{prior.__name__}\({former}=\) is called {name}="
    ):
        made = prior(**{former: value})
    assert made == prior(**{name: value})
    with pytest.warns(DeprecationWarning, match=rf"priors.{former} is called priors.{name} now"):
        assert getattr(made, former) == value
    with pytest.raises(AttributeError, match="no number 'sticks'"):
        made.sticks  # noqa: B018


def test_the_meaning_of_weights(regimes):
    with pytest.warns(DeprecationWarning, match="weights_are=.* is called weight_type="):
        model = bvb.DensityRegression(
            "y ~ x", regimes, n_components=1, weights=[1.0] * len(regimes), weights_are="sampling"
        )
    with pytest.warns(DeprecationWarning, match="model.weights_are is called model.weight_type"):
        assert model.weights_are == model.weight_type == "sampling"


@pytest.mark.parametrize(
    ("table", "former", "name"),
    [
        (lambda fit: fit.components(), "separation", "membership_prob"),
        (lambda fit: fit.restarts, "start", "initialisation"),
        (lambda fit: fit.model.prior_table(), "centre", "location"),
    ],
)
def test_columns(regimes_fit, table, former, name):
    table = table(regimes_fit)
    with pytest.warns(DeprecationWarning, match=f"column '{former}' is called '{name}' now"):
        column = table[former]
    assert_series_equal(column, table[name])
    with pytest.warns(DeprecationWarning, match=f"column '{former}'"):
        assert list(table[[table.columns[0], former]]) == [table.columns[0], name]
    with pytest.raises(KeyError, match="middle"):
        table["middle"]


def test_variables_of_effects(regimes_fit):
    for function in (bvb.effects.slopes, bvb.effects.comparisons):
        found, expected = function(regimes_fit, variables="x"), function(regimes_fit, "x")
        assert_frame_equal(found.summary, expected.summary)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (bvb.DensityRegression, {"family", "fit", "n_components", "prior_table"}),
        (bvb.BayesianPCA, {"effective", "fit", "moments"}),
    ],
)
def test_completion_lists_the_public_names_of_a_model(model, expected):
    made = model(
        "~ ." if model is bvb.BayesianPCA else "waiting ~ .", bvb.datasets.load("faithful")
    )
    listed = {name for name in dir(made) if not name.startswith("_")}
    assert expected < listed and len(listed) < 25
    assert all(hasattr(made, name) for name in listed)
