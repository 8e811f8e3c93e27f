"""What a fit answers on the page is what its report says."""

import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.interactive.answers import component_tables, picture, sentences
from bayesvb.results.checks.base import Check

ROWS = pd.DataFrame({"x": [float(i) for i in range(40)]})
ROWS["y"] = ROWS["x"] + (ROWS["x"] * 7.0) % 11.0
CONTRADICTED = Check("Mean by x", "fit", "problem", 1.0, "", 0.0, "", "", "")


@pytest.mark.parametrize(("formula", "along"), [("y ~ x", "x"), ("y ~ 1", "")])
def test_a_picture_is_along_the_covariate_that_matters(formula, along):
    fit = bvb.DensityRegression(formula, ROWS, n_components=1).fit(seed=1, draws=50)
    shown = picture(fit)
    assert (shown.along, shown.covariates) == (along, (along,) if along else ())
    assert "<svg" in shown.figure and shown.sentences[0].endswith(".")
    if along:
        hedged = picture(fit, "", [CONTRADICTED]).sentences
        assert (
            "fails the check Mean by x" in hedged[0]
            and sentences(fit, "", [CONTRADICTED]) == hedged
        )


@pytest.mark.heavy  # the picture of the weights takes matplotlib
def test_components_have_a_section_where_there_are_several():
    model = bvb.DensityRegression("y ~ x", ROWS, n_components=2)
    tables = component_tables(model.fit(seed=1, draws=50, restarts=1))
    assert "Weight of each component" in tables.components
    assert tables.parameters.startswith("<table")
