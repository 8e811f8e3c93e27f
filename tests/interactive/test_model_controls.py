"""Every argument of a model has a control, or is none for a page."""

import inspect

import pytest

from bayesvb.errors import DataError
from bayesvb.estimators import MODELS
from bayesvb.interactive.model_controls import PRIORS, model_controls, prior_controls

NONE = {"formula", "data", "priors", "context"}
"""Arguments without a control of their own."""


@pytest.mark.parametrize("model", MODELS)
def test_models_declare_their_controls(model):
    arguments = inspect.signature(MODELS[model]).parameters
    assert set(arguments) - set(model_controls(model)) == NONE & set(arguments)
    defaults = {name: control.default for name, control in prior_controls(model).items()}
    assert PRIORS[model](**defaults) == PRIORS[model]()
    for control in [*model_controls(model).values(), *prior_controls(model).values()]:
        if control.default is not None:
            control.check(control.default)
        with pytest.raises(DataError, match=control.name):
            control.check(control)
