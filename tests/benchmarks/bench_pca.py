"""Bayesian PCA: rank, held-out density against maximum likelihood, intervals, imputation, time.

The rival density is scikit-learn's probabilistic PCA with the rank that does best in an inner
cross-validation; the rival imputation is the iterated singular value decomposition with the rank
that does best in hindsight, which no user could know. Beside the density is that of the prior
which lets no component vanish, that of whichever of the two has the larger LOO on the rows of the
fit, and that of one Gaussian with a full covariance matrix, whose posterior is exact.
"""

import time
import warnings

import numpy as np
import pandas as pd
from sklearn.decomposition import PCA
from sklearn.model_selection import KFold, cross_val_score
from tables import keep

import bayesvb as bvb
from bayesvb.evaluation.elpd import read_elpd

KEEP_ALL = bvb.PcaPriors(relevance_rate=1000.0)
"""Prior under which no component vanishes."""


def rank_three(seed: int, n_rows: int = 50, n_dims: int = 10) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    signal = rng.normal(size=(n_rows, 3)) @ rng.normal(size=(3, n_dims))
    values = signal + 0.5 * rng.normal(size=signal.shape)
    return pd.DataFrame(values, columns=[f"v{i}" for i in range(n_dims)])


def ranks(n_rows: int, rate: float) -> dict[str, object]:
    """How often rank three of ten variables is found, for a rate of the prior of the relevances."""
    priors = bvb.PcaPriors(relevance_rate=rate)
    found = []
    for seed in range(20):
        model = bvb.BayesianPCA("~ .", rank_three(seed, n_rows), priors=priors)
        found.append(model.effective(model.fit(seed=1, draws=25, covariance="mean-field")))
    columns = {"rows": n_rows, "relevance_rate": rate, "rank 3 in": f"{found.count(3)} of 20"}
    return columns | {"least": min(found), "most": max(found)}


def coverage(missing: float, n_sets: int = 200) -> dict[str, object]:
    """How often 90 % intervals of centre and noise cover, scores integrated out or not."""
    hits: dict[str, list[float]] = {}
    for seed in range(n_sets):
        rng = np.random.default_rng(seed)
        centre, values = rng.normal(size=5), rng.normal(size=(100, 2)) @ rng.normal(size=(2, 5))
        data = pd.DataFrame(values + centre + 0.5 * rng.normal(size=(100, 5))).add_prefix("v")
        data = data.mask(rng.random(data.shape) < missing)
        fit = bvb.BayesianPCA("~ .", data).fit(seed=1, restarts=1, draws=500)
        for name in ("linear-response", "mean-field"):
            table = fit.with_covariance(name).summary(prob=0.9)
            for part, truth in (("centre", centre), ("sigma", np.array([0.5]))):
                rows = table.loc[part]
                inside = (rows["lower"] < truth) & (truth < rows["upper"])
                hits.setdefault(f"{part}, {name}", []).append(inside.mean())
    return {"missing": missing, "data sets": n_sets} | {k: np.mean(v) for k, v in hits.items()}


def data_sets() -> dict[str, tuple[pd.DataFrame, bool]]:
    """Name -> rows, and whether each variable has a scale of its own."""
    iris = bvb.datasets.load("iris").select_dtypes("number").astype(float)
    cancer = bvb.datasets.load("breast_cancer").select_dtypes("number").astype(float)
    return {
        "iris": (iris, False),
        "breast_cancer": (cancer, True),
        **{f"rank 3, N = 50, seed {seed}": (rank_three(seed), False) for seed in range(5)},
    }


def best_ml(train: np.ndarray, test: np.ndarray, scale: bool) -> tuple[np.ndarray, int]:
    """Log densities of probabilistic PCA by maximum likelihood, and the rank that was chosen."""
    centre, unit = train.mean(axis=0), train.std(axis=0) if scale else np.ones(train.shape[1])
    train, test = (train - centre) / unit, (test - centre) / unit
    folds = KFold(5, shuffle=True, random_state=0)
    ranks = range(1, min(train.shape[1], len(train) - len(train) // 5 - 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a rank without noise left
        found = [np.mean(cross_val_score(PCA(rank), train, cv=folds)) for rank in ranks]
    rank = ranks[int(np.nanargmax(found))]
    return PCA(rank).fit(train).score_samples(test) - np.log(unit).sum(), rank


def loo(fit: bvb.Fit) -> float:
    """Sum of the leave-one-out densities."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return float(read_elpd(fit.loo()).elpd)


def density(name: str, data: pd.DataFrame, scale: bool) -> dict[str, object]:
    ours, theirs, full, ranks, chosen, seconds = [], [], [], [], [], 0.0
    keeping, better = [], []
    for train, test in KFold(10, shuffle=True, random_state=1).split(data):
        began = time.perf_counter()
        model = bvb.BayesianPCA("~ .", data.iloc[train], scale=scale)
        fit = model.fit(seed=1)
        seconds += time.perf_counter() - began
        ours.extend(fit.log_density(data.iloc[test]))
        ranks.append(model.effective(fit))
        every = bvb.BayesianPCA("~ .", data.iloc[train], scale=scale, priors=KEEP_ALL).fit(seed=1)
        keeping.extend(every.log_density(data.iloc[test]))
        by_loo = max(fit, every, key=loo)
        better.extend(by_loo.log_density(data.iloc[test]))
        one = bvb.GaussianMixture("~ .", data.iloc[train], n_components=1)
        full.extend(one.fit(seed=1, draws=25, restarts=1).log_density(data.iloc[test]))
        values = data.to_numpy()
        found, rank = best_ml(values[train], values[test], scale)
        theirs.extend(found)
        chosen.append(rank)
    gain = np.array(ours) - np.array(theirs)
    return {
        "data": name,
        "rows": len(data),
        "variables": data.shape[1],
        "ours": np.mean(ours),
        "maximum likelihood": np.mean(theirs),
        "gain": gain.mean(),
        "se": gain.std(ddof=1) / len(gain) ** 0.5,
        "keeping all": np.mean(keeping),
        "by LOO": np.mean(better),
        "full covariance": np.mean(full),
        "effective rank": np.median(ranks),
        "rank chosen": np.median(chosen),
        "seconds per fit": seconds / 10,
    }


def iterated_svd(holes: np.ndarray, values: np.ndarray, rank: int) -> np.ndarray:
    """Missing values filled by a truncated decomposition until they settle."""
    filled = np.where(holes, 0.0, values)
    for _ in range(500):
        centre = filled.mean(axis=0)
        u, d, v = np.linalg.svd(filled - centre, full_matrices=False)
        fresh = np.where(holes, centre + (u[:, :rank] * d[:rank]) @ v[:rank], values)
        moved = np.abs(fresh - filled).max()
        filled = fresh
        if moved < 1e-6:
            break
    return filled


def imputation(name: str, data: pd.DataFrame, scale: bool) -> dict[str, object]:
    """Root mean square error of missing values, in standard deviations of their variables."""
    rows = []
    for seed in range(5):
        holes = np.random.default_rng(seed).random(data.shape) < 0.2
        holes[holes.all(axis=1), 0] = False
        gapped = data.mask(holes)
        centre, unit = gapped.mean().to_numpy(), gapped.std().to_numpy()
        values = (data.to_numpy() - centre) / unit
        fit = bvb.BayesianPCA("~ .", gapped, scale=scale).fit(seed=1, draws=25)
        ours = (fit.predict(gapped, "impute").to_numpy() - centre) / unit
        ranks = range(1, min(8, data.shape[1]))
        svd = [iterated_svd(holes, np.where(holes, 0.0, values), rank) for rank in ranks]
        errors = [((one - values)[holes] ** 2).mean() ** 0.5 for one in (ours, 0.0 * ours, *svd)]
        rows.append([errors[0], errors[1], min(errors[2:])])
    ours, mean, best = np.mean(rows, axis=0)
    columns = {"data": name, "ours": ours, "mean": mean, "iterated SVD, best rank": best}
    return columns | {"better in": f"{sum(row[0] < row[2] for row in rows)} of 5"}


def timing(n_rows: int, n_dims: int, missing: float) -> dict[str, object]:
    data = rank_three(0, n_rows, n_dims)
    data = data.mask(np.random.default_rng(0).random(data.shape) < missing)
    n_components = min(n_dims - 1, 9)
    began = time.perf_counter()
    model = bvb.BayesianPCA("~ .", data, n_components=n_components)
    fit = model.fit(seed=1, restarts=1, draws=100, n_jobs=1)
    seconds = time.perf_counter() - began
    return {
        "rows": n_rows,
        "variables": n_dims,
        "components": n_components,
        "missing": missing,
        "passes": fit.n_iter,
        "ms per pass": 1e3
        * float(fit.restarts["seconds"].iloc[0])
        / fit.restarts["n_iter"].iloc[0],
        "rows of a pass": int(fit.restarts["rows"].iloc[0]),
        "seconds in all": seconds,
        "effective": model.effective(fit),
    }


def main() -> None:
    rates = ((50, 0.001), (200, 0.001), (200, 0.03), (200, 0.3), (200, 1.0))
    keep(pd.DataFrame([ranks(*which) for which in rates]), "pca_rank")
    keep(pd.DataFrame([coverage(missing) for missing in (0.0, 0.2)]), "pca_coverage")
    sets = data_sets()
    keep(pd.DataFrame([density(name, *given) for name, given in sets.items()]), "pca_density")
    table = pd.DataFrame([imputation(name, *given) for name, given in sets.items()])
    keep(table, "pca_imputation")
    sizes = [(1000, 10), (10_000, 10), (100_000, 10), (1000, 30), (1000, 100)]
    keep(pd.DataFrame([timing(*s, m) for s in sizes for m in (0.0, 0.2)]), "pca_time")


if __name__ == "__main__":
    main()
