"""What ranks say: coverage, bands, verdict and what is printed."""

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from bayesvb.results.simulation_calibration import SimulationCalibration

DRAWS = 399


def found_of(ranks, **changes):
    """A calibration with these ranks; columns are quantities."""
    n, k = ranks.shape
    names = [("mean" if i < k - 1 else "log likelihood", f"row {i}") for i in range(k)]
    index = pd.Index(range(1, n + 1), name="replication")
    columns = pd.MultiIndex.from_tuples(names, names=["kind", "place"])
    replications = pd.DataFrame(
        {"draws": DRAWS, "converged": True, "covariance": "linear-response", "seconds": 0.1,
         "problem": ""},
        index,
    )  # fmt: skip
    fields = {
        "ranks": pd.DataFrame(ranks, index, columns),
        "replications": replications,
        "parameters_from": "prior",
        "planned": n,
        "formula": "y ~ x",
        "description": "Mixture of Gaussian linear regressions, 2 components",
        "method": "cavi",
        "options": {},
        "seed": 1,
    }
    return SimulationCalibration(**{**fields, **changes})


def uniform(n, k=4, seed=1):
    return np.random.default_rng(seed).integers(0, DRAWS + 1, (n, k))


def test_coverage_counts_ranks_in_the_middle():
    ranks = np.arange(400).reshape(400, 1)
    found = found_of(np.column_stack([ranks, ranks]))
    assert found.coverage["coverage"].xs("mean").tolist() == pytest.approx([0.5, 0.8, 0.9])
    assert found.coverage["deviation"].abs().max() < 1e-12
    se = found.coverage.loc[("mean", 0.5), "se"]
    assert se == pytest.approx(np.sqrt(0.25 / 400), rel=0.01)
    assert found.table()["mean_rank"].tolist() == pytest.approx([0.5, 0.5])
    assert found.table()["cover_80"].tolist() == pytest.approx([0.8, 0.8])


def test_standard_errors_know_that_places_of_a_replication_go_together():
    one = uniform(200, 1)
    same = found_of(np.column_stack([one, one, one, one]))
    apart = found_of(uniform(200, 4))
    ratio = same.coverage.loc[("mean", 0.5), "se"] / apart.coverage.loc[("mean", 0.5), "se"]
    assert ratio == pytest.approx(np.sqrt(3.0), rel=0.15)


def test_bands_hold_uniform_ranks_at_all_points_together_with_their_probability():
    ranks = uniform(100, 600)
    inside = np.mean([one.inside for one in found_of(ranks).ecdfs.values()])
    assert inside == pytest.approx(0.95, abs=3.5 * np.sqrt(0.05 * 0.95 / 600))


def test_narrow_draws_are_uneven_and_named():
    rng = np.random.default_rng(2)
    u = 1.0 / (1.0 + np.exp(-3.4 * rng.normal(size=200)))
    ranks = uniform(200)
    ranks[:, 1] = np.floor(u * (DRAWS + 1)).clip(0, DRAWS)
    found = found_of(ranks)
    assert found.uneven == [("mean", "row 1")]
    assert "Ranks of 1 of 4 quantities are not uniform" in str(found)
    assert "mean at row 1." in str(found)
    ecdf = found.ecdf
    bad = ecdf[(ecdf["place"] == "row 1") & (ecdf["kind"] == "mean")]
    assert ((bad["difference"] < bad["lower"]) | (bad["difference"] > bad["upper"])).any()


def test_what_failed_or_was_not_made_is_printed():
    found = found_of(uniform(20))
    table = found.replications.assign(converged=[False] * 2 + [True] * 18)
    table.loc[20, "problem"] = "LinAlgError: singular"
    told = str(found_of(uniform(20)[:19], planned=30, replications=table))
    assert "19 of 30 replications" in told
    assert "Interrupted: 10 replications were not made." in told
    assert "1 replications have no fit and are in no number above" in told
    assert "LinAlgError: singular (1)." in told
    assert "2 fits did not converge; their ranks count." in told


def test_the_plot_shows_each_quantity_and_the_band():
    matplotlib.use("Agg")
    found = found_of(uniform(50))
    axes = found.plot()
    lines = [line for line in axes.get_lines() if len(line.get_xdata()) > 2]
    assert len(lines) == 4 and len(axes.collections) == 1
    np.testing.assert_allclose(lines[0].get_ydata(), next(iter(found.ecdfs.values())).difference)
    given = plt.figure().add_subplot()
    assert found.plot(ax=given) is given
    plt.close("all")
