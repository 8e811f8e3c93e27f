"""Simulation-based calibration of conditional standard deviations, default priors, 200 rows.

Parameters are drawn from the prior, rows from the parameters, and the rank of the true standard
deviation of y at five values of x among those of the posterior draws should be uniform: mean 0.5.
A mean above that says that the fit understates them. With one component linear response has
nothing to add and q is the exact posterior: the control. Nothing is standardised, so that the
prior is the same for every data set.

References
----------
Talts, Betancourt, Simpson, Vehtari, Gelman (2018), Validating Bayesian inference algorithms with
simulation-based calibration, arXiv:1804.06788.
"""

import argparse
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
from tables import keep

import bayesvb as bvb

N_ROWS, DATA_SETS, DRAWS = 200, 100, 400
AT = (-1.5, -0.75, 0.0, 0.75, 1.5)
DESIGNS = {
    "one component (exact)": {"n_components": 1},
    "two, softmax": {"n_components": 2, "gate": "softmax"},
    "two, stick-breaking": {"n_components": 2, "gate": "stick-breaking"},
}
COVARIANCES = ("linear-response", "mean-field")


def model_of(data: pd.DataFrame, options: dict[str, object]) -> bvb.DensityRegression:
    return bvb.DensityRegression("y ~ x", data, priors=bvb.Priors(standardize=False), **options)


def conditional_sds(model: bvb.DensityRegression, fit: object) -> np.ndarray:
    """Standard deviation of y at every draw and place."""
    block = model.block(model.rows(pd.DataFrame({"x": AT})))
    return model.drawn_mixture(fit, block, 0).sd()


def ranks(options: dict[str, object], seed: int) -> dict[str, np.ndarray]:
    """Ranks of the true standard deviations, between 0 and 1, at each place."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=N_ROWS)
    blank = model_of(pd.DataFrame({"x": x, "y": rng.normal(size=N_ROWS)}), options)
    truth = blank.core.prior_draws(1, rng)
    y = blank.core.responses(truth, blank.block(blank.rows()), rng)[0, 0]
    model = model_of(pd.DataFrame({"x": x, "y": y}), options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        fit = model.fit(seed=seed, restarts=3, draws=DRAWS)
        each = {name: fit.with_covariance(name) for name in COVARIANCES if has(fit, name)}
    true = conditional_sds(blank, SimpleNamespace(core=blank.core, draws=truth))
    return {
        name: ((conditional_sds(model, one) < true).sum(axis=0) + 0.5) / (DRAWS + 1.0)
        for name, one in each.items()
    }


def has(fit: object, covariance: str) -> bool:
    """Whether there are draws with this covariance: linear response may have failed."""
    return covariance == "mean-field" or fit.response.failure is None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=DATA_SETS, help="data sets of each design")
    asked = parser.parse_args()
    rows = []
    for name, options in DESIGNS.items():
        found = [ranks(options, seed) for seed in range(1000, 1000 + asked.sets)]
        for covariance in COVARIANCES:
            each = np.array([one[covariance] for one in found if covariance in one])
            per_set = each.mean(axis=1)
            rows.append(
                {
                    "design": name,
                    "covariance": covariance,
                    "data sets": len(each),
                    "mean rank": each.mean(),
                    "standard error": per_set.std(ddof=1) / np.sqrt(len(each)),
                    "below 0.05": (each < 0.05).mean(),
                    "above 0.95": (each > 0.95).mean(),
                }
            )
            print(rows[-1], flush=True)
    if asked.sets == DATA_SETS:
        keep(pd.DataFrame(rows), "sbc")


if __name__ == "__main__":
    main()
