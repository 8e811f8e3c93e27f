"""Sizes, means and separation of clusters, and what sentence and panel say of them."""

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.reports.panels.clusters import clusters_panel
from bayesvb.reports.rows.cluster_profiles import ClusterProfile, cluster_sentence
from bayesvb.reports.sections.finding import sentences


@pytest.fixture(scope="module")
def fit():
    rng = np.random.default_rng(1)
    far = np.repeat([0.0, 8.0], [40, 20])
    data = pd.DataFrame({"a": rng.normal(size=60), "b": far + rng.normal(size=60)})
    return bvb.GaussianMixture("~ a + b", data, n_components=2).fit(seed=1, restarts=1, draws=80)


def test_separation_is_the_share_of_the_variance_between_clusters():
    profile = ClusterProfile(
        names=("a", "b"),
        number=np.array([1, 2]),
        share=np.array([0.75, 0.25]),
        mean=np.array([[0.0, 1.0], [4.0, 1.0]]),
        sd=np.ones((2, 2)),
    )
    assert profile.centre.tolist() == [1.0, 1.0]
    assert profile.separation == pytest.approx([3.0 / 4.0, 0.0])
    assert profile.order.tolist() == [0, 1]


def test_the_variable_that_separates_best_is_in_the_sentence_and_first_in_the_panel(fit):
    (sentence,) = sentences(fit, [])
    assert sentence.startswith("2 clusters hold 66% (89% interval ")
    assert ", 34% of the rows; b separates them best, with means of " in sentence
    panel = clusters_panel(fit)
    assert [row["label"] for row in panel["rows"]] == ["b", "b", "a", "a"]
    stated = sentence.partition("means of ")[2].rstrip(".").split(" and ")
    shown = [row["estimate"] for row in panel["rows"][:2]]
    assert [float(one.replace("−", "-")) for one in stated] == pytest.approx(shown, abs=0.006)
    assert [row["series"] for row in panel["rows"]] == [1, 2, 1, 2]


def test_a_variable_is_named_with_its_share_where_none_separates(fit):
    profile = ClusterProfile.from_fit(fit, ("a", "b"))
    close = ClusterProfile(
        names=("a", "b"), number=profile.number, share=profile.share,
        mean=0.1 * profile.mean, sd=profile.sd,
    )  # fmt: skip
    assert "no single variable separates them: b does most, with " in cluster_sentence(fit, close)
