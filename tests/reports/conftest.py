"""One fit for each kind of page."""

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.model_selection.selection import Selection

FEW = {"seed": 1, "restarts": 1, "draws": 80}


def table():
    """Eighty rows with a numeric response, a class, groups, counts, events, and a wide column."""
    rng = np.random.default_rng(1)
    data = pd.DataFrame(rng.normal(size=(80, 3)), columns=["x", "z", "v"])
    data["y"] = 2.0 * data["x"] + rng.normal(size=80)
    data["g"] = np.where(data["y"] > 0.5, "a", "b")
    data["school"] = np.repeat(list("stuvwxyz"), 10)
    data["n"] = rng.poisson(np.exp(0.5 * data["x"]))
    data["one"] = (data["y"] > 0.0).astype(int)
    data["square"] = (data.iloc[:, :3] @ [1.0, 2.0, 3.0]) ** 2 + 3.0 * data["y"]
    return data


def courses():
    """Forty subjects seen five times, of two classes."""
    rng = np.random.default_rng(2)
    subject, time = np.repeat(np.arange(40), 5), np.tile(np.arange(5.0), 40)
    falls = subject % 3 == 0
    y = np.where(falls, 4.0 - 0.5 * time, 4.2) + 0.2 * rng.normal(size=200)
    who = np.where(rng.random(40)[subject] < np.where(falls, 0.8, 0.2), "smoker", "other")
    return pd.DataFrame({"subject": subject, "time": time, "y": y, "who": who})


def sixty():
    """Sixty columns, of which the first eight change the response."""
    rng = np.random.default_rng(3)
    data = pd.DataFrame(rng.normal(size=(150, 60)), columns=[f"x{i}" for i in range(60)])
    return data.assign(y=data.iloc[:, :8] @ np.linspace(2.0, 0.3, 8) + rng.normal(size=150))


def models():
    """Model of each kind of page."""
    data, iris, density = table(), bvb.datasets.load("iris"), bvb.DensityRegression
    many = sixty()
    three = "sepal_length + sepal_width + petal_length ~ petal_width + label"
    return {
        "density": density("y ~ bs(x, df=4) + z", data, n_components=2),
        "student": density("y ~ x", data, n_components=1, family="student"),
        "levels": density("y ~ g", data, n_components=1),
        "groups": density("y ~ x + (1 | school)", data, n_components=1),
        "subjects": density("y ~ time | gating(who)", courses(), n_components=2, group="subject"),
        "several": density("y + v ~ x", data, n_components=1),
        "three": density(three, iris, n_components=2),
        "counts": density("n ~ x", data, n_components=1, family="poisson"),
        "events": density("one ~ x", data, n_components=1, family="bernoulli"),
        "classes": bvb.ConditionalMixtureNetwork("label ~ .", iris, n_experts=2),
        "network": bvb.ConditionalMixtureNetwork("y ~ x + z", data, n_experts=2),
        "mixture": bvb.GaussianMixture("~ x + y", data, n_components=2),
        "components": bvb.BayesianPCA("~ x + y + z", data),
        "sample": bvb.Normal("y ~ 1", data),
        "crowded": density(f"square ~ {' + '.join(data.columns[:5])}", data, n_components=1),
        "sixty": density(f"y ~ {' + '.join(many.columns[:60])}", many, n_components=1),
    }


KINDS = (
    *("density", "student", "levels", "groups", "subjects", "several", "three", "counts", "events"),
    *("classes", "network", "mixture", "components", "sample", "crowded", "sixty"),
    *("comparison", "selection"),
)
"""Kinds of pages: those of one fit, of several, and of a choice among them."""


@pytest.fixture(scope="session")
def kinds():
    """A fit, or several, for each kind of page."""
    data = table()
    made = {name: model.fit(**FEW) for name, model in models().items()}
    two = {
        formula: bvb.DensityRegression(formula, data, n_components=1).fit(**FEW)
        for formula in ("y ~ x", "y ~ z + x", "y ~ z")
    }
    chosen = bvb.select(bvb.DensityRegression("y ~ x", data), [1, 2], **FEW)
    return made | {"comparison": two, "selection": chosen}


def pytest_generate_tests(metafunc):
    """Run a test of ``page_kind`` with every kind."""
    if "page_kind" in metafunc.fixturenames:
        metafunc.parametrize("page_kind", KINDS)


@pytest.fixture(scope="session")
def write(kinds):
    """Function that writes the page of a kind."""

    def written(kind, path, edition=None, **choices):
        told = kinds[kind]
        if isinstance(told, Selection):
            choices, told = {**choices, "selection": told}, told.best
        return bvb.report(told, path, edition=edition, **choices)

    return written
