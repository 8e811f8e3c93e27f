"""Every argument of a model has a control, or is none for a page."""

import inspect

import pytest

from bayesvb.errors import DataError
from bayesvb.estimators import MODELS
from bayesvb.interactive.model_controls import (
    OF_FITS,
    PRIORS,
    fit_controls,
    model_controls,
    prior_controls,
)

NONE = {"formula", "data", "priors", "context"}
"""Arguments without a control of their own."""


@pytest.mark.parametrize("model", MODELS)
def test_models_declare_their_controls(model):
    arguments = inspect.signature(MODELS[model]).parameters
    assert set(arguments) - set(model_controls(model)) == NONE & set(arguments)
    defaults = {name: control.default for name, control in prior_controls(model).items()}
    assert PRIORS[model](**defaults) == PRIORS[model]()
    assert set(fit_controls(model)) == set(OF_FITS)
    declared = (model_controls, prior_controls, fit_controls)
    for control in [one for controls in declared for one in controls(model).values()]:
        if control.default is not None:
            control.check(control.default)
        with pytest.raises(DataError, match=control.name):
            control.check(control)
