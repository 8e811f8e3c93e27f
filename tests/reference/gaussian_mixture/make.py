"""Gaussian mixtures fitted by scikit-learn from given partitions: writes expected.json.

    python tests/reference/gaussian_mixture/make.py

The version that made the file is in it. For diagonal covariances scikit-learn takes the expected
log-determinant of a Wishart, sum_i digamma((nu + 1 - i) / 2), where the independent gammas that it
otherwise computes with have D digamma(nu / 2). In one dimension the two are equal; in more its
responsibilities contain the difference, which the test puts in.
"""

import json
import warnings
from pathlib import Path

import numpy as np
import sklearn
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import BayesianGaussianMixture

CASES = (  # form, rows, dims, components, iterations (None: until nothing changes)
    ("full", 80, 1, 2, 4),
    ("full", 120, 2, 3, 6),
    ("full", 120, 2, 4, None),
    ("full", 150, 4, 3, None),
    ("diag", 90, 1, 3, 5),
    ("diag", 90, 1, 2, None),
    ("diag", 90, 2, 3, 5),
    ("diag", 90, 3, 3, None),
)


class FromPartition(BayesianGaussianMixture):
    """Starts with the M-step of a given partition."""

    def _initialize_parameters(self, X, random_state, xp=None):
        self._initialize(X, self.partition)


def case(number, form, rows, dims, components, iterations):
    rng = np.random.default_rng(number)
    centres = 3.0 * rng.normal(size=(components, dims))
    x = np.round(centres[rng.integers(0, components, rows)] + rng.normal(size=(rows, dims)), 3)
    label = rng.integers(0, components, rows)
    scatter = np.round(np.eye(dims) + 0.3, 3)
    prior = {
        "concentration": 0.7,
        "mean": np.round(rng.normal(size=dims), 3).tolist(),
        "mean_precision": 0.3,
        "dof": dims + 1.5,
        "scatter": scatter.tolist(),
    }
    model = FromPartition(
        n_components=components,
        covariance_type=form,
        tol=1e-300 if iterations else 1e-13,
        max_iter=iterations or 3000,
        reg_covar=0.0,
        weight_concentration_prior_type="dirichlet_distribution",
        weight_concentration_prior=prior["concentration"],
        mean_prior=prior["mean"],
        mean_precision_prior=prior["mean_precision"],
        degrees_of_freedom_prior=prior["dof"],
        covariance_prior=scatter if form == "full" else np.diag(scatter),
    )
    model.partition = np.eye(components)[label]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(x)
    return {
        "form": {"full": "full", "diag": "diagonal"}[form],
        "iterations": iterations,
        "x": x.tolist(),
        "label": label.tolist(),
        "prior": prior,
        "weights": model.weights_.tolist(),
        "means": model.means_.tolist(),
        "covariances": model.covariances_.reshape(components, -1).tolist(),
        "dof": model.degrees_of_freedom_.tolist(),
        "mean_precision": model.mean_precision_.tolist(),
        "responsibilities": model.predict_proba(x)[:5].tolist(),
    }


if __name__ == "__main__":
    cases = [case(number, *which) for number, which in enumerate(CASES)]
    content = {"scikit-learn": sklearn.__version__, "cases": cases}
    path = Path(__file__).with_name("expected.json")
    path.write_text(json.dumps(content) + "\n", encoding="utf-8")
