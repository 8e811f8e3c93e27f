"""Files that an earlier version saved: they load, and predict what they predicted then.

Files are never renewed. Where one is missing, ``BAYESVB_WRITE_FROZEN=1 pytest tests/frozen`` saves
it with the present code, with its predictions: for a new model, or a new version of the format.
"""

import gzip
import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import bayesvb as bvb

FOLDER = Path(__file__).with_name("saved")
WRITES = "BAYESVB_WRITE_FROZEN"

TOLERANCE = 1e-9
"""Nothing is iterated after loading, but libraries and processors round differently."""

MODELS = {
    "regression": ("DensityRegression", "y ~ x | gating(x)", {"n_components": 2}),
    "student": (
        "DensityRegression",
        "y ~ x | gating(1)",
        {"n_components": 2, "family": "student", "gate": "stick-breaking"},
    ),
    "groups": ("DensityRegression", "y ~ x + (1 | g)", {"n_components": 1}),
    "gaussians": ("GaussianMixture", "~ y + x", {"n_components": 2}),
    "classes": ("ConditionalMixtureNetwork", "f ~ x + y", {"n_experts": 2}),
    "components": ("BayesianPCA", "~ y + x + z", {}),
}
"""Class, formula and options of the model in each file."""


def rows() -> pd.DataFrame:
    """A few rows; the file holds its own."""
    rng = np.random.default_rng(8)
    x, z, noise = rng.normal(size=(3, 36))
    group = np.arange(36) % 6
    y = np.where(x + 0.3 * z > 0.0, 2.0 * x, -x) + 0.5 * np.sin(group) + 0.3 * noise
    return pd.DataFrame({"y": y, "x": x, "z": z, "g": group, "f": np.where(y > 0.8, "a", "b")})


def answers(fit: bvb.Fit, model: str) -> dict[str, list[float]]:
    """Numbers that need no further computation than reading, prediction and densities."""
    kinds = {"ConditionalMixtureNetwork": ["probability"], "DensityRegression": ["mean", "sd"]}
    tables = {kind: fit.predict(rows().iloc[:5], kind=kind) for kind in kinds.get(model, [])}
    tables |= {"density": fit.log_density(rows().iloc[:5]), "summary": fit.summary()}
    means = fit.posterior.mean(("chain", "draw")).data_vars.values()
    tables["draws"] = np.concatenate([np.ravel(values.to_numpy()) for values in means])
    found = {name: np.ravel(np.asarray(table, dtype=float)) for name, table in tables.items()}
    finite = {name: values[np.isfinite(values)].tolist() for name, values in found.items()}
    return {"elbo": [fit.elbo], **finite}


def write(path: Path) -> None:
    """Save a fit of the model that the file is named after, compressed, and its numbers."""
    model, formula, options = MODELS[path.stem]
    fit = getattr(bvb, model)(formula, rows(), **options).fit(
        seed=1, restarts=2, draws=25, max_iter=300, n_jobs=1, combine="best"
    )
    found = answers(bvb.load(fit.save(path)), model)
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{path.stem}.json").write_text(json.dumps(found) + "\n")
    (FOLDER / f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))


@pytest.mark.parametrize("name", MODELS)
def test_a_saved_fit_predicts_what_it_did(name, tmp_path):
    path, packed = tmp_path / f"{name}.nc", FOLDER / f"{name}.nc.gz"
    if os.environ.get(WRITES) and not packed.exists():
        write(path)
    assert packed.exists(), f"{packed} is missing; {WRITES}=1 writes it"
    path.write_bytes(gzip.decompress(packed.read_bytes()))
    expected = json.loads((FOLDER / f"{name}.json").read_text())
    found = answers(bvb.load(path), MODELS[name][0])
    assert list(found) == list(expected)
    for field, values in expected.items():
        scale = np.max(np.abs(values), initial=0.0)
        assert_allclose(found[field], values, rtol=TOLERANCE, atol=TOLERANCE * scale, err_msg=field)
