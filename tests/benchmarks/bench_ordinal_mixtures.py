"""How far one ordinal regression is from a mixture of two: nats per row, without sampling error.

    python tests/benchmarks/bench_ordinal_mixtures.py

Four levels, a standard normal covariate, constant weights: Kullback-Leibler divergence of the best
single component, with a line and with a cubic polynomial, from mixtures of two cumulative logit
models, and the number of rows after which the likelihood prefers the mixture by 2 nats. Writes
docs/benchmarks/ordinal_mixtures.csv.
"""

import numpy as np
import pandas as pd
from numpy.polynomial.hermite_e import hermegauss
from scipy.optimize import minimize
from scipy.special import expit
from tables import keep

NODES, WEIGHTS = hermegauss(41)
WEIGHTS = WEIGHTS / WEIGHTS.sum()
CUTS, SHARES = np.array([-1.0, 0.3, 1.5]), (0.6, 0.4)
CASES = {  # slopes, levels
    "equal slopes, levels 3 apart": ((1.0, 1.0), (-1.5, 1.5)),
    "slopes 1 and -0.5, equal levels": ((1.0, -0.5), (0.0, 0.0)),
    "slopes 1 and -1, levels 3 apart": ((1.0, -1.0), (-1.5, 1.5)),
    "slopes 2 and -2, levels 4 apart": ((2.0, -2.0), (-2.0, 2.0)),
}


def probabilities(cuts, predictor):
    below = expit(cuts[:, None] - predictor)
    ends = np.zeros((1, len(predictor))), np.ones((1, len(predictor)))
    return np.diff(np.concatenate([ends[0], below, ends[1]]), axis=0)


def divergence(theta, truth):
    """Of cut points, by their distances, and coefficients of powers of the covariate."""
    cuts = np.cumsum(np.r_[theta[0], np.exp(theta[1:3])])
    predictor = sum(b * NODES ** (power + 1) for power, b in enumerate(theta[3:]))
    model = np.maximum(probabilities(cuts, predictor), 1e-300)
    return float(WEIGHTS @ (truth * np.log(truth / model)).sum(axis=0))


def best(truth, degree):
    starts = (np.r_[-1.0, 0.0, 0.0, slope, np.zeros(degree - 1)] for slope in (0.1, 0.5, 1.0))
    return min(minimize(divergence, one, args=(truth,), method="BFGS").fun for one in starts)


def main():
    lines = []
    for name, (slopes, levels) in CASES.items():
        each = zip(SHARES, slopes, levels, strict=True)
        truth = sum(s * probabilities(CUTS - level, b * NODES) for s, b, level in each)
        line, cubic = best(truth, 1), best(truth, 3)
        row = {"mixture": name, "line": line, "cubic": cubic}
        lines.append({**row, "rows for 2 nats": round(2.0 / cubic)})
    keep(pd.DataFrame(lines), "ordinal_mixtures")


if __name__ == "__main__":
    main()
