"""Names of other packages: each leads to something that is there, and hides nothing that is."""

import re

import pytest

import bayesvb as bvb
from bayesvb.results.other_names import NAMED_HERE, meant


@pytest.mark.parametrize("here", NAMED_HERE)
def test_what_is_to_be_written_exists(here):
    owner, name = re.match(r"(fit|bvb(?:\.effects)?)\.(\w+)", here).groups()
    known = {"fit": bvb.Fit, "bvb": bvb, "bvb.effects": bvb.effects}[owner]
    assert hasattr(known, name) or name in known.__dataclass_fields__


def test_no_name_stands_for_two_things_or_for_itself():
    elsewhere = [name for names in NAMED_HERE.values() for name in names]
    assert len(elsewhere) == len(set(elsewhere))
    assert [name for name in elsewhere if hasattr(bvb.Fit, name)] == []


def test_a_slip_of_the_pen_is_put_right_and_private_names_are_not_offered():
    assert meant("predct", ("predict", "_predict")) == "fit.predict"
    assert meant("_predct", ("_predict",)) is None


def test_what_is_asked_of_a_model_and_belongs_to_its_fit_leads_there(unchecked):
    model = bvb.DensityRegression("waiting ~ eruptions", bvb.datasets.load("faithful"))
    for name, here in {"predict": "fit.predict", "summary": "fit.summary", "coef_": "fit.coef()",
                       "prior_tabel": "model.prior_table"}.items():  # fmt: skip
        with pytest.raises(AttributeError, match=re.escape(here)):
            getattr(model, name)
    with pytest.raises(AttributeError) as error:
        _ = model.nothing_like_it
    assert "hint" not in str(error.value)
    with pytest.raises(AttributeError, match=re.escape("bvb.compare({")):
        _ = bvb.anova
