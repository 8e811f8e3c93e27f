"""Every verb of a fit, of every model, from every source: it works, or a line says why not."""

import functools
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.errors import DataError
from bayesvb.formula.passes import representatives

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.filterwarnings("ignore"),
]

QUICK = {"seed": 1, "restarts": 1, "draws": 25, "max_iter": 300, "tol": 0.5, "combine": "best"}
BRIEF = {**QUICK, "max_iter": 5}
SAMPLE, ROWS = 18, 36


@functools.cache
def table(seed=0):
    """Two lines; a factor, groups, weights, classes, counts, and values that are missing."""
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=ROWS), rng.random(ROWS)
    upper = rng.random(ROWS) < 1.0 / (1.0 + np.exp(-x))
    y = np.where(upper, 1.0 + x, -1.0 - z) + 0.4 * rng.normal(size=ROWS)
    frame = pd.DataFrame({"y": y, "x": x, "z": z, "g": rng.choice(["a", "b", "c"], ROWS)})
    frame = frame.assign(s=rng.choice(list("pqrstu"), ROWS), h=np.where(y > 0, "u", "l"))
    frame = frame.assign(b=(y > 0.0).astype(float), c=rng.poisson(np.exp(0.5 * x)).astype(float))
    frame.loc[::17, "z"] = np.nan
    return frame


def pieces(frame):
    cuts = np.linspace(0, len(frame), 4).astype(int)
    return [frame.iloc[a:b] for a, b in pairwise(cuts)]


DENSITY = bvb.DensityRegression
TWO = {"n_components": 2}

MODELS = {
    "gaussian": (DENSITY, "y ~ x + (1 | s) | x", TWO),
    "student": (DENSITY, "y ~ x | g", {"family": "student", **TWO}),
    "bernoulli": (DENSITY, "b ~ x + (1 | s)", {"family": "bernoulli", "n_components": 1}),
    "poisson": (DENSITY, "c ~ x + g | 1", {"family": "poisson", **TWO}),
    "mixture": (bvb.GaussianMixture, "~ x + y", TWO),
    "normal": (bvb.Normal, "y ~ 1", {}),
    "components": (bvb.BayesianPCA, "~ x + y + z", {}),
    "classes": (bvb.ConditionalMixtureNetwork, "h ~ x + g", {"n_experts": 2}),
}


def from_table(kind, formula, options, path):
    return kind(formula, table(), **options).fit(**QUICK)


def from_parquet(kind, formula, options, path):
    table().to_parquet(path / "rows.parquet", row_group_size=ROWS // 2)
    return kind(formula, path / "rows.parquet", **options).fit(**QUICK)


def from_dask(kind, formula, options, path):
    pytest.importorskip("distributed", reason='needs pip install "bayesvb[dask]"')
    rows = pytest.importorskip("dask.dataframe").from_pandas(table(), npartitions=3)
    return kind(formula, rows, **options).fit(**QUICK)


def from_file(kind, formula, options, path):
    return bvb.load(from_parquet(kind, formula, options, path).save(path / "fit.nc"))


def from_sites(kind, formula, options, path):
    sites, settings = pieces(table()), {"restarts": 1, "max_iter": 10, "tol": 0.1}
    model, agreed = kind(formula, sites[1], **options), None
    while agreed is None or not agreed.finished:
        parts = [bvb.site_statistics(model, site, agreed, **settings) for site in sites]
        agreed = bvb.merge_site_statistics(parts)
    return bvb.fit_from_sites(model, sites[0], agreed, draws=25)


def after_update(kind, formula, options, path):
    return from_table(kind, formula, options, path).update(table(1))


SOURCES = {
    "table": from_table,
    "parquet": from_parquet,
    "dask": from_dask,
    "file": from_file,
    "sites": from_sites,
    "update": after_update,
}


def checkpointed(fit, path):
    return fit.model.fit(**QUICK, checkpoint=path / "log.nc", checkpoint_every=0.0)


VERBS: dict[str, Callable[[Any, Path], object]] = {
    "print": lambda fit, path: str(fit),
    "summary": lambda fit, path: fit.summary(),
    "components": lambda fit, path: fit.components(),
    "idata": lambda fit, path: fit.idata,
    "coef": lambda fit, path: fit.coef(),
    "vcov": lambda fit, path: fit.vcov(),
    "predict": lambda fit, path: fit.predict(),
    "predict new": lambda fit, path: fit.predict(table(2).dropna()),
    "log density": lambda fit, path: fit.log_density(),
    "responsibilities": lambda fit, path: fit.responsibilities(),
    "residuals": lambda fit, path: fit.residuals(),
    "save": lambda fit, path: bvb.load(fit.save(path / "again.nc")).summary(),
    "loo": lambda fit, path: fit.loo(),
    "exact loo": lambda fit, path: fit.loo(method="exact"),
    "waic": lambda fit, path: fit.waic(),
    "pit": lambda fit, path: fit.pit(),
    "check": lambda fit, path: fit.check(),
    "influence": lambda fit, path: fit.influence(),
    "prior sensitivity": lambda fit, path: fit.prior_sensitivity(),
    "prior thresholds": lambda fit, path: fit.prior_thresholds(),
    "mean-field": lambda fit, path: fit.with_covariance("mean-field"),
    "robust": lambda fit, path: fit.with_covariance("robust"),
    "exact": lambda fit, path: fit.with_covariance("exact"),
    "update": lambda fit, path: fit.update(table(3)),
    "downdate": lambda fit, path: fit.downdate(table().head(9)),
    "prune": lambda fit, path: bvb.prune(fit),
    "select": lambda fit, path: bvb.select(fit.model, [1, 2], **QUICK),
    "cross-validate": lambda fit, path: bvb.cross_validate(fit.model, folds=2, **QUICK),
    "sbc": lambda fit, path: bvb.sbc(fit, replications=2),
    "report": lambda fit, path: fit.report(path / "page.html"),
    "slopes": lambda fit, path: bvb.effects.slopes(fit, variables="x"),
    "fit again": checkpointed,
    "svi": lambda fit, path: fit.model.fit("svi", **BRIEF),
    "em": lambda fit, path: fit.model.fit("em", **BRIEF),
}


@dataclass(frozen=True)
class Refusal:
    """Verbs that raise one error from these sources, of these models."""

    why: str
    verbs: Collection[str]
    sources: Collection[str] = tuple(SOURCES)
    models: Collection[str] = tuple(MODELS)


STREAMS = ("parquet", "dask", "file")
PARTLY = ("sites", "update")
WITHOUT_ROWS = (*STREAMS, *PARTLY)
DENSITIES = ("gaussian", "student", "bernoulli", "poisson")
BY_ROW = ("influence", "prior sensitivity", "prior thresholds", "robust")
UNSUPERVISED = ("mixture", "components")

REFUSALS = (
    Refusal("needs all rows in memory", (*BY_ROW, "exact", "cross-validate", "sbc"), WITHOUT_ROWS),
    Refusal("fits again without each", ["exact loo"], STREAMS, (*DENSITIES, "mixture", "normal")),
    Refusal(
        "needs all .* rows of the fit, of which only",
        ("responsibilities", "residuals", "loo", "exact loo", "waic", "pit", "check",
         "select", "report", "fit again", "svi", "em"),
        PARTLY,
    ),
    Refusal(
        "needs all .* rows of the fit, of which only",
        ("select", "fit again", "svi", "em"),
        ["file"],
    ),
    Refusal("cannot be pruned without its rows", ["prune"], (*PARTLY, "file"), DENSITIES[1:]),
    Refusal("with other options needs all rows", ["select"], ["update"]),
    Refusal("with other options needs all rows", ["select"], WITHOUT_ROWS, ["components"]),
    Refusal("predicts one variable given the others", ("predict", "predict new"),
            models=UNSUPERVISED),
    Refusal("no effects of covariates", ["slopes"], models=(*UNSUPERVISED, "normal")),
    Refusal("PIT values need a numeric response", ("residuals", "pit"),
            models=(*UNSUPERVISED, "classes")),
    Refusal("only mixtures of Gaussian linear", ["exact"], ["table"],
            [name for name in MODELS if name not in ("gaussian", "bernoulli", "poisson")]),
    Refusal("with these priors has no", BY_ROW, ["table"], tuple(MODELS)[4:]),
    Refusal("no point estimates", ["em"], models=("normal", "components")),
    Refusal("not identified", ["select"], ("table", "sites", *STREAMS), ["bernoulli"]),
    Refusal("has no mixture components", ["responsibilities"], models=("normal", "components")),
    Refusal("has no mixture components", ["components"], models=["normal"]),
    Refusal("no components to prune", ["prune"], models=("normal", "components", "classes")),
    Refusal("no number of components", ["select"], models=["normal"]),
    Refusal("no leave-one-out by refits", ["exact loo"], ("table", *STREAMS), ["components"]),
    Refusal("no leave-one-out by refits", ["exact loo"], models=["classes"]),
)  # fmt: skip
"""A later line holds where two name the same verb."""


def reasons(fitted, path):
    """Why each verb that does not work does not; of no verb where there is no fit."""
    why = {}
    try:
        fit = fitted(path)
    except DataError as error:
        return {"fit": error.why}
    for name, verb in VERBS.items():
        try:
            verb(fit, path)
        except DataError as error:
            why[name] = error.why
    return why


# Rows from Dask are blocks, as those of a Parquet file are: what takes longest is left to the file.
CELLS = [
    (model, source)
    for model in MODELS
    for source in SOURCES
    if source != "dask" or model not in ("classes", "student")
]


@pytest.mark.parametrize(("model", "source"), CELLS)
def test_every_verb_works_or_says_why_not(model, source, tmp_path, monkeypatch):
    monkeypatch.setattr(representatives, "SAMPLE_ROWS", SAMPLE)
    kind, formula, options = MODELS[model]
    found = reasons(lambda path: SOURCES[source](kind, formula, options, path), tmp_path)
    expected = {
        verb: refusal.why
        for refusal in REFUSALS
        if source in refusal.sources and model in refusal.models
        for verb in refusal.verbs
    }
    if "fit" in expected:
        expected = {"fit": expected["fit"]}
    strange = {
        verb: (found.get(verb), expected.get(verb))
        for verb in found.keys() | expected.keys()
        if verb not in found or not re.search(expected.get(verb, "$^"), found[verb])
    }
    assert strange == {}
