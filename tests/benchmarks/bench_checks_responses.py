"""Error rates of ``fit.check()`` for discrete and censored responses: 12 right designs, 12 wrong.

A false alarm is a fit of a right design with any ``"problem"``, in whichever group. Of a wrong
design a fit counts as caught if one of the checks of the fit is a ``"problem"``.
"""

import argparse
from collections.abc import Callable

import numpy as np
import pandas as pd
from bench_checks import ONE, TWO, Design, Rng, checked, rates
from scipy.special import expit
from tables import keep

FIRST_SEED, RIGHT_SETS, WRONG_SETS = 3000, 25, 8

Law = Callable[[Rng, np.ndarray, np.ndarray, int], np.ndarray]


def drawn(law: Law) -> Callable[[Rng, int], pd.DataFrame]:
    """Two covariates, an exposure, and a response that depends on them."""

    def draw(rng: Rng, n: int) -> pd.DataFrame:
        x, z = rng.normal(size=(2, n))
        frame = pd.DataFrame({"x": x, "z": z, "exposure": rng.uniform(0.5, 4.0, n), "n": 10})
        return frame.assign(y=law(rng, x, z, n))

    return draw


def ones(rng: Rng, x: np.ndarray, z: np.ndarray, n: int) -> np.ndarray:
    return 1.0 * (rng.random(n) < expit(0.3 + x - 0.5 * z))


def rare(rng: Rng, x: np.ndarray, z: np.ndarray, n: int) -> np.ndarray:
    return 1.0 * (rng.random(n) < expit(-3.2 + 0.8 * x))


def waves_of_ones(rng: Rng, x: np.ndarray, z: np.ndarray, n: int) -> np.ndarray:
    return 1.0 * (rng.random(n) < expit(2.0 * np.sin(2.0 * x)))


def successes(rng: Rng, x: np.ndarray, z: np.ndarray, n: int) -> np.ndarray:
    return 1.0 * rng.binomial(10, expit(-0.5 + 0.7 * x - 0.4 * z))


def two_kinds(rng: Rng, x: np.ndarray, z: np.ndarray, n: int) -> np.ndarray:
    return 1.0 * rng.binomial(10, expit(np.where(rng.random(n) < 0.4, 1.5 + x, -1.5 - 0.5 * x)))


def few_counts(rng: Rng, x: np.ndarray, z: np.ndarray, n: int) -> np.ndarray:
    return 1.0 * rng.poisson(np.exp(-0.5 + 0.5 * x))


def counts(rng: Rng, x: np.ndarray, z: np.ndarray, n: int) -> np.ndarray:
    return 1.0 * rng.poisson(np.exp(1.2 + 0.4 * x - 0.3 * z))


def overdispersed(rng: Rng, x: np.ndarray, z: np.ndarray, n: int) -> np.ndarray:
    return 1.0 * rng.poisson(np.exp(1.2 + 0.4 * x) * rng.gamma(2.0, 0.5, n))


def structural_zeros(rng: Rng, x: np.ndarray, z: np.ndarray, n: int) -> np.ndarray:
    return np.where(rng.random(n) < expit(-0.5 + 0.8 * z), 0.0, counts(rng, x, 0.0 * z, n))


def ordered(rng: Rng, x: np.ndarray, z: np.ndarray, n: int) -> np.ndarray:
    return 1.0 + np.digitize(x - 0.5 * z + rng.logistic(size=n), [-2.0, -0.5, 0.5, 2.0])


def line(rng: Rng, x: np.ndarray, z: np.ndarray, n: int) -> np.ndarray:
    return 1.0 + x - 0.5 * z + rng.normal(size=n)


def waiting(rng: Rng, x: np.ndarray, z: np.ndarray, n: int) -> np.ndarray:
    return np.exp(1.0 + 0.5 * x) * rng.weibull(1.5, n)


def bent(law: Law) -> Law:
    """The same law with a bend in x that a line has not."""
    return lambda rng, x, z, n: law(rng, x**2 - 1.0, z, n)


def ones_with_product(rng: Rng, x: np.ndarray, z: np.ndarray, n: int) -> np.ndarray:
    return 1.0 * (rng.random(n) < expit(x + z + 1.5 * x * z))


def clustered_ones(rng: Rng, x: np.ndarray, z: np.ndarray, n: int) -> np.ndarray:
    return 1.0 * (rng.random(n) < expit(x + 1.5 * rng.normal(size=n)[np.arange(n) // 10]))


def varying_successes(rng: Rng, x: np.ndarray, z: np.ndarray, n: int) -> np.ndarray:
    return 1.0 * rng.binomial(10, expit(-0.5 + 0.7 * x + 0.8 * rng.normal(size=n)))


def fanned(rng: Rng, x: np.ndarray, z: np.ndarray, n: int) -> np.ndarray:
    return 1.0 + x + np.exp(0.4 * x) * rng.normal(size=n)


def with_exposure(rng: Rng, n: int) -> pd.DataFrame:
    frame = drawn(counts)(rng, n)
    rate = np.exp(0.3 + 0.4 * frame["x"]) * frame["exposure"]
    return frame.assign(y=1.0 * rng.poisson(rate))


def censored(law: Law, limit: float) -> Callable[[Rng, int], pd.DataFrame]:
    """Responses above limits that vary are known to be larger."""

    def draw(rng: Rng, n: int) -> pd.DataFrame:
        frame = drawn(law)(rng, n)
        end = limit * rng.uniform(0.5, 1.5, n)
        return frame.assign(late=frame["y"] > end, y=np.minimum(frame["y"], end))

    return draw


BERNOULLI, ORDINAL = ONE | {"family": "bernoulli"}, ONE | {"family": "ordinal"}
BINOMIAL, POISSON = ONE | {"family": "binomial"}, ONE | {"family": "poisson"}
NEGBINOMIAL, WEIBULL = ONE | {"family": "negbinomial"}, ONE | {"family": "weibull"}

RIGHT = {
    "zeros and ones": Design(drawn(ones), "y ~ x + z", BERNOULLI),
    "few ones (5%)": Design(drawn(rare), "y ~ x + z", BERNOULLI),
    "zeros and ones, s(x)": Design(drawn(waves_of_ones), "y ~ s(x)", BERNOULLI),
    "successes in 10 trials": Design(drawn(successes), "y | trials(n) ~ x + z", BINOMIAL),
    "two kinds of successes, K 2": Design(
        drawn(two_kinds), "y | trials(n) ~ x | gating(1)", TWO | {"family": "binomial"}
    ),
    "counts with mean 0.7": Design(drawn(few_counts), "y ~ x", POISSON),
    "counts with an offset": Design(with_exposure, "y ~ x + offset(log(exposure))", POISSON),
    "overdispersed counts": Design(drawn(overdispersed), "y ~ x", NEGBINOMIAL),
    "structural zeros": Design(drawn(structural_zeros), "y ~ x | zero(z)", POISSON),
    "five ordered levels": Design(drawn(ordered), "y ~ x + z", ORDINAL),
    "a third right censored": Design(censored(line, 2.0), "cens(y, late) ~ x + z", ONE),
    "waiting times, right censored": Design(censored(waiting, 4.0), "cens(y, late) ~ x", WEIBULL),
}

WRONG = {
    "zeros and ones, a bend": Design(drawn(bent(ones)), "y ~ x + z", BERNOULLI),
    "zeros and ones, an interaction": Design(drawn(ones_with_product), "y ~ x + z", BERNOULLI),
    "zeros and ones, clusters of ten": Design(
        drawn(clustered_ones), "y ~ x", BERNOULLI, in_order=True
    ),
    "successes, a bend": Design(drawn(bent(successes)), "y | trials(n) ~ x + z", BINOMIAL),
    "overdispersed successes": Design(drawn(varying_successes), "y | trials(n) ~ x", BINOMIAL),
    "counts, a bend": Design(drawn(bent(counts)), "y ~ x + z", POISSON),
    "overdispersed counts, Poisson": Design(drawn(overdispersed), "y ~ x", POISSON),
    "structural zeros, Poisson": Design(drawn(structural_zeros), "y ~ x", POISSON),
    "structural zeros, negative binomial": Design(drawn(structural_zeros), "y ~ x", NEGBINOMIAL),
    "five ordered levels, a bend": Design(drawn(bent(ordered)), "y ~ x + z", ORDINAL),
    "a third right censored, a bend": Design(
        censored(bent(line), 2.0), "cens(y, late) ~ x + z", ONE
    ),
    "right censored, a spread that grows": Design(censored(fanned, 2.0), "cens(y, late) ~ x", ONE),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, help="data sets of each design, printed")
    parser.add_argument("--designs", nargs="+", default=[], help="these only, printed")
    asked = parser.parse_args()
    records = []
    for designs, sets in ((RIGHT, RIGHT_SETS), (WRONG, WRONG_SETS)):
        for name, design in designs.items():
            if asked.designs and name not in asked.designs:
                continue
            for seed in range(FIRST_SEED, FIRST_SEED + (asked.sets or sets)):
                records.append(checked(name, design, seed, right=designs is RIGHT))
            print(rates(pd.DataFrame(records)).tail(1).to_string(header=False), flush=True)
    table = rates(pd.DataFrame(records))
    if not (asked.sets or asked.designs):
        keep(table, "checks_responses")
    print(table.to_string(index=False))
    print(table.groupby("kind")["problem"].mean())


if __name__ == "__main__":
    main()
