"""Mixtures of Gaussians against scikit-learn: held-out density of ten folds, time of a sweep."""

import time
import warnings

import numpy as np
import pandas as pd
from bench_gaussian_mixture_speed import sweep_times
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import BayesianGaussianMixture
from sklearn.model_selection import KFold
from tables import keep

import bayesvb as bvb

RESTARTS = 8


def ten_components(seed: int = 0, n_rows: int = 500) -> pd.DataFrame:
    """Ten Gaussians in the plane, some of them touching."""
    rng = np.random.default_rng(seed)
    centres = rng.uniform(-8.0, 8.0, size=(10, 2))
    roots = rng.normal(size=(10, 2, 2)) * 0.7
    label = rng.integers(0, 10, n_rows)
    noise = rng.normal(size=(n_rows, 2))
    values = centres[label] + (roots[label] @ noise[:, :, None])[..., 0]
    return pd.DataFrame(values + 0.2 * rng.normal(size=(n_rows, 2)), columns=["a", "b"])


def theirs(train: np.ndarray, test: np.ndarray, n_components: int) -> np.ndarray:
    """Log densities, the data standardised as ours are."""
    centre, unit = train.mean(axis=0), train.std(axis=0)
    model = BayesianGaussianMixture(
        n_components=n_components,
        n_init=RESTARTS,
        max_iter=2000,
        random_state=0,
        weight_concentration_prior_type="dirichlet_distribution",
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit((train - centre) / unit)
    return model.score_samples((test - centre) / unit) - np.log(unit).sum()


def density(name: str, data: pd.DataFrame, n_components: int) -> dict[str, object]:
    ours, rival, seconds = [], [], np.zeros(2)
    values = data.to_numpy(dtype=float)
    for train, test in KFold(10, shuffle=True, random_state=0).split(values):
        began = time.perf_counter()
        model = bvb.GaussianMixture("~ .", data.iloc[train], n_components=n_components)
        ours.extend(model.fit(seed=1, restarts=RESTARTS).log_density(data.iloc[test]))
        middle = time.perf_counter()
        rival.extend(theirs(values[train], values[test], n_components))
        seconds += [middle - began, time.perf_counter() - middle]
    gain = np.array(ours) - np.array(rival)
    return {
        "data": name,
        "rows": len(data),
        "components": n_components,
        "ours": np.mean(ours),
        "scikit-learn": np.mean(rival),
        "gain": gain.mean(),
        "se": gain.std(ddof=1) / len(gain) ** 0.5,
        "seconds per fit": seconds[0] / 10,
        "theirs": seconds[1] / 10,
    }


def main() -> None:
    numeric = {
        name: bvb.datasets.load(name).select_dtypes("number") for name in ("faithful", "iris")
    }
    rows = [density(name, data, 5) for name, data in numeric.items()]
    rows += [density("ten components", ten_components(), 15)]
    keep(pd.DataFrame(rows), "gaussian_mixture_density")
    sweeps = [sweep_times(form, 100_000, 10, 20, repeats=5) for form in ("full", "diagonal")]
    keep(pd.DataFrame(sweeps), "gaussian_mixture_sweep")


if __name__ == "__main__":
    main()
