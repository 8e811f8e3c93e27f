"""Every verb of a fit, of every model, from every source: it works, or one error says why not."""

import functools
import re

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

QUICK = {"seed": 1, "restarts": 1, "draws": 50, "max_iter": 40}
SAMPLE, ROWS = 60, 120


@functools.cache
def table(seed=0):
    """Two lines; a factor, groups, weights, classes, and values that are missing."""
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=ROWS), rng.random(ROWS)
    upper = rng.random(ROWS) < 1.0 / (1.0 + np.exp(-x))
    y = np.where(upper, 1.0 + x, -1.0 - z) + 0.4 * rng.normal(size=ROWS)
    frame = pd.DataFrame({"y": y, "x": x, "z": z, "g": rng.choice(["a", "b", "c"], ROWS)})
    frame = frame.assign(s=rng.choice(list("pqrstu"), ROWS), h=np.where(y > 0, "u", "l"))
    frame = frame.assign(w=rng.integers(1, 4, ROWS).astype(float))
    frame.loc[::17, "z"] = np.nan
    return frame


MODELS = {
    "density": (bvb.DensityRegression, "y ~ x + (1 | s) | g", {"n_components": 2}),
    "mixture": (bvb.GaussianMixture, "~ x + y", {"n_components": 2}),
    "normal": (bvb.Normal, "y ~ 1", {}),
    "components": (bvb.BayesianPCA, "~ x + y + z", {}),
    "classes": (bvb.ConditionalMixtureNetwork, "h ~ x + g", {"n_experts": 2}),
}


def from_table(kind, formula, options, path):
    return kind(formula, table(), **options).fit(**QUICK)


def from_sample(kind, formula, options, path):
    table().to_parquet(path / "rows.parquet", row_group_size=ROWS // 3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(representatives, "SAMPLE_ROWS", SAMPLE)
        return kind(formula, path / "rows.parquet", **options).fit(**QUICK)


def from_sites(kind, formula, options, path):
    frame, settings = table(), {"restarts": 1, "max_iter": 10, "tol": 0.1}
    given = {"weights": options["weights"]} if "weights" in options else {}
    sites = [frame[:40], frame[40:80], frame[80:]]
    model, agreed = kind(formula, sites[1], **options), None
    while agreed is None or not agreed.finished:
        parts = [bvb.site_statistics(model, one, agreed, **given, **settings) for one in sites]
        agreed = bvb.merge_site_statistics(parts)
    return bvb.fit_from_sites(model, sites[0], agreed, **given, draws=50)


def from_file_of_sample(kind, formula, options, path):
    return bvb.load(from_sample(kind, formula, options, path).save(path / "fit.nc"))


def after_update(kind, formula, options, path):
    fit = kind(formula, table(), **options).fit(**QUICK)
    return fit.update(table(1), weights=options.get("weights"))


SOURCES = {
    "sample": from_sample,
    "sites": from_sites,
    "file of a sample": from_file_of_sample,
    "update": after_update,
}


def checkpointed(fit, path):
    return fit.model.fit(**QUICK, checkpoint=path / "log.nc", checkpoint_every=0.0)


VERBS = {
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
    "influence": lambda fit, path: fit.influence(),
    "prior sensitivity": lambda fit, path: fit.prior_sensitivity(),
    "mean-field": lambda fit, path: fit.with_covariance("mean-field"),
    "robust": lambda fit, path: fit.with_covariance("robust"),
    "exact": lambda fit, path: fit.with_covariance("exact"),
    "update": lambda fit, path: fit.update(
        table(3), weights=None if fit.model.weights is None else "w"
    ),
    "prune": lambda fit, path: bvb.prune(fit),
    "select": lambda fit, path: bvb.select(fit.model, [1, 2], seed=1, restarts=1),
    "cross_validate": lambda fit, path: bvb.cross_validate(fit.model, folds=2),
    "calibrate": lambda fit, path: bvb.sbc(fit, replications=2),
    "report": lambda fit, path: fit.report(path / "page.html"),
    "slopes": lambda fit, path: bvb.effects.slopes(fit, wrt="x"),
    "fit again": checkpointed,
    "svi": lambda fit, path: fit.model.fit("svi", seed=1, restarts=1, draws=50, max_iter=5),
    "em": lambda fit, path: fit.model.fit("em", seed=1, restarts=1, draws=50, max_iter=5),
}

POSSIBLE = (
    "needs all|cannot be updated|has no|does not fit|of one variable given the others|"
    "is not available|so that no row has a PIT value"
)
"""Reasons of an error: rows that are not here, or something that no fit of the model has."""


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("model", MODELS)
def test_every_verb_works_or_says_why_not(model, source, tmp_path):
    if (model, source) in {("components", "update"), ("classes", "update")}:
        pytest.skip("no fit of it can be updated")
    fit = SOURCES[source](*MODELS[model], tmp_path)
    strange = {}
    for name, verb in VERBS.items():
        try:
            verb(fit, tmp_path)
        except DataError as error:
            if not re.search(POSSIBLE, error.why):
                strange[name] = error.why
    assert strange == {}
