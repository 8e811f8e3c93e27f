"""What a result says of how rows were left out, in both lines of ArviZ."""

import copy
import pickle

import numpy as np
import pytest

from bayesvb.evaluation.elpd import Elpd, elpd_data, read_elpd
from bayesvb.storage.arviz_objects import import_arviz

METHODS = {
    "linear-response": "by a first-order approximation",
    "exact": "by refits",
    "folds": "by cross-validation, with a refit without each fold",
}


def result(method: str, n_refitted: int = 0, shift: float = 0.0) -> object:
    pointwise = np.linspace(-2.0, -1.0, 30) + shift
    return elpd_data(
        Elpd(kind="loo", pointwise=pointwise, p=2.5, method=method, n_refitted=n_refitted)
    )


@pytest.mark.parametrize("method", METHODS)
def test_no_posterior_samples_are_told_where_none_were_used(method):
    for shown in (str(result(method)), repr(result(method))):
        assert METHODS[method] in shown.splitlines()[0] and " 30 observations" in shown
        assert "posterior samples" not in shown and "Pareto" not in shown
        assert "elpd_loo" in shown and "-45.00" in shown and "p_loo" in shown


def test_rows_that_were_refitted_are_counted_where_not_all_were():
    assert "; 3 by a refit" in str(result("linear-response", 3))
    assert ";" not in str(result("exact", 30)) + str(result("linear-response"))


def test_lines_fit_the_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    assert max(map(len, str(result("linear-response", 3)).splitlines())) <= 60


def test_ratios_of_draws_are_printed_as_arviz_prints_them():
    k = np.full(30, 0.1)
    shown = str(
        elpd_data(
            Elpd(kind="loo", pointwise=np.linspace(-2.0, -1.0, 30), p=2.5, n_draws=400, pareto_k=k)
        )
    )
    assert shown.startswith("Computed from 400 posterior samples") and "Pareto k" in shown


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")  # of ArviZ
@pytest.mark.parametrize("method", METHODS)
def test_it_is_still_what_the_tools_of_arviz_take(method):
    one, other = result(method), result(method, shift=-0.5)
    assert type(one).__name__ in ("ELPDData", "ELPDDataLOO")
    table = import_arviz().compare({"one": one, "other": other})
    assert list(table.index) == ["one", "other"] and table["rank"].tolist() == [0, 1]
    assert abs(table["elpd_diff"].abs().max() - 15.0) < 0.1


@pytest.mark.parametrize("method", METHODS)
def test_copies_and_pickles_are_and_say_the_same(method):
    one = result(method, 3)
    for again in (copy.copy(one), copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
        assert type(again) is type(one) and str(again) == str(one)
        assert read_elpd(again).method == method and read_elpd(again).n_refitted == 3
        np.testing.assert_allclose(read_elpd(again).pointwise, read_elpd(one).pointwise)
