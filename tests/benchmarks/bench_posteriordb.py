"""Posteriors of posteriordb compared with ours: binary, binomial and linear regressions.

    BAYESVB_DATA=folder python tests/benchmarks/bench_posteriordb.py

Data of https://github.com/stan-dev/posteriordb as ``folder/posteriordb/NAME.json.zip``, and for nes
1972 to 2000 the published moments, ``NAME.mean_value.json`` and ``NAME.mean_squared_value.json``.
The others have no published draws. Of these the reference is the posterior of the Stan model: by
importance sampling, 10,000 draws from a t distribution with 6 degrees of freedom at the maximum
(wells, nes_logit, dogs), or the beta distribution (Rate). Largest difference of a mean in posterior
standard deviations, and smallest and largest ratio of standard deviations; ``of sigma``: the noise,
whose posterior here has as many degrees of freedom as rows, and fewer by the coefficients with the
flat priors of the database. Rates have the prior
Normal(0, 1.7) on the log odds instead of Beta(1, 1). ``dogs_hierarchical`` and
``dogs_nonhierarchical`` model the logarithm of a probability, which no family here does. Writes
docs/benchmarks/posteriordb.csv.
"""

import json
import warnings
import zipfile

import numpy as np
import pandas as pd
import statsmodels.api as sm
from scipy.special import expit
from scipy.stats import beta, multivariate_t
from tables import data_folder, keep

import bayesvb as bvb

WIDE = bvb.Priors(coefficient_sd=100.0, scales="fixed")
RATE = bvb.Priors(coefficient_sd=1.7)
DRAWS = 10_000
WELLS = {
    "wells_dist": ["dist"],
    "wells_dist100_model": ["d"],
    "wells_dist100ars_model": ["d", "a"],
    "wells_interaction_model": ["d", "a", "d:a"],
    "wells_interaction_c_model": ["dc", "ac", "dc:ac"],
    "wells_dae_model": ["d", "a", "e"],
    "wells_dae_c_model": ["dc", "ac", "e", "dc:ac"],
    "wells_daae_c_model": ["dc", "ac", "assoc", "e", "dc:ac"],
    "wells_dae_inter_model": ["dc", "ac", "ec", "dc:ac", "dc:ec", "ac:ec"],
}
NES = ["real_ideo", "race_adj", "(age == 2)", "(age == 3)", "(age == 4)", "educ1", "gender", "inc"]


def read(name):
    """Data of a posterior."""
    with zipfile.ZipFile(data_folder() / "posteriordb" / f"{name}.json.zip") as archive:
        return json.loads(archive.read(archive.namelist()[0]))


def wells():
    found = pd.DataFrame({k: v for k, v in read("wells_data").items() if isinstance(v, list)})
    found = found.assign(d=found["dist"] / 100, a=found["arsenic"], e=found["educ"] / 4)
    return found.assign(**{f"{one}c": found[one] - found[one].mean() for one in "dae"})


def dogs():
    """One row for each dog and trial, with earlier avoidances and shocks."""
    y = np.array(read("dogs")["y"])
    shocks = np.cumsum(y, axis=1) - y
    trials = np.arange(y.shape[1])[None]
    columns = {"y": y, "avoided": trials - shocks, "shocks": shocks}
    return pd.DataFrame({name: values.ravel() for name, values in columns.items()}).astype(float)


def sampled(y, columns):
    """Mean and standard deviation of coefficients under a flat prior."""
    found = sm.Logit(y, columns).fit(disp=0)
    centre, spread = np.asarray(found.params), np.asarray(found.cov_params())
    law = multivariate_t(centre, 1.2 * spread, df=6, seed=1)
    draws, weight = law.rvs(DRAWS), np.empty(DRAWS)
    for some in np.array_split(np.arange(DRAWS), 40):
        u = draws[some] @ np.asarray(columns).T
        weight[some] = u @ np.asarray(y) - np.logaddexp(0.0, u).sum(axis=1)
    weight -= law.logpdf(draws)
    weight = np.exp(weight - weight.max())
    mean = weight @ draws / weight.sum()
    return mean, np.sqrt(weight @ (draws - mean) ** 2 / weight.sum())


def logistic(name, data, y, terms, intercept=True):
    formula = f"{y} ~ {'1' if intercept else '0'} + {' + '.join(terms)}"
    fit = bvb.DensityRegression(formula, data, n_components=1, family="bernoulli", priors=WIDE).fit(
        seed=1, draws=10_000, n_jobs=1
    )
    products = [data[term.split(":")].prod(axis=1) for term in terms]
    columns = np.column_stack([np.ones(len(data))] * intercept + products)
    found = fit.summary().loc[("mean", 1)]
    return row(name, found["mean"], found["sd"], *sampled(data[y], columns))


def rate(name, rows):
    """One rate, by its log odds; a row is halved, as a fit needs two."""
    halves = [(k // 2, n // 2) for k, n in rows] + [(k - k // 2, n - n // 2) for k, n in rows]
    data = pd.DataFrame(halves, columns=["k", "n"]).astype(float)
    options = {"n_components": 1, "family": "binomial", "priors": RATE}
    fit = bvb.DensityRegression("k | trials(n) ~ 1", data, **options).fit(seed=1, draws=40_000)
    theta = expit(np.asarray(fit.posterior["beta"]).ravel())
    law = beta(1 + data["k"].sum(), 1 + (data["n"] - data["k"]).sum())
    return row(name, [theta.mean()], [theta.std()], [law.mean()], [law.std()])


def published(year):
    """A linear regression with the moments of the database."""
    data = {k: v for k, v in read(f"nes{year}").items() if isinstance(v, list)}
    data = pd.DataFrame(data).rename(columns={"age_discrete": "age", "income": "inc"})
    for level in (2, 3, 4):
        data[f"age{level}"] = (data["age"] == level).astype(float)
    terms = [term.replace("(age == ", "age").replace(")", "") for term in NES]
    formula = "partyid7 ~ " + " + ".join(terms)
    fit = bvb.DensityRegression(formula, data, n_components=1, priors=WIDE).fit(
        seed=1, draws=20_000, n_jobs=1
    )
    moments = []
    for name in ("mean_value", "mean_squared_value"):
        path = data_folder() / "posteriordb" / f"nes{year}.{name}.json"
        moments.append(np.array(json.loads(path.read_text())[name]))
    table = fit.summary()
    found, noise = table.loc[("mean", 1)], table.loc["sigma"].iloc[0]
    other, reference = moments[0], np.sqrt(moments[1] - moments[0] ** 2)
    coefficients = row(f"nes{year}", found["mean"], found["sd"], other[:-1], reference[:-1])
    return {**coefficients, "of sigma": (noise["mean"] - other[-1]) / reference[-1]}


def row(name, mean, sd, other, reference):
    ratio, shift = np.divide(sd, reference), np.subtract(mean, other) / reference
    found = {"posterior": name, "difference": np.abs(shift).max()}
    return {**found, "least sd ratio": ratio.min(), "largest sd ratio": ratio.max()}


def lines():
    data = wells()
    for name, terms in WELLS.items():
        yield logistic(name, data, "switched", terms)
    votes = pd.DataFrame({k: v for k, v in read("nes_logit_data").items() if isinstance(v, list)})
    yield logistic("nes_logit_model", votes, "vote", ["income"])
    yield logistic("dogs", dogs(), "y", ["avoided", "shocks"])
    yield logistic("dogs_log", dogs(), "y", ["avoided", "shocks"], intercept=False)
    one, two, common = (read(f"Rate_{number}_data") for number in (1, 2, 3))
    yield rate("Rate_1", [(one["k"], one["n"])])
    yield rate("Rate_2, theta1", [(two["k1"], two["n1"])])
    yield rate("Rate_2, theta2", [(two["k2"], two["n2"])])
    yield rate("Rate_3", [(common["k1"], common["n1"]), (common["k2"], common["n2"])])
    four, five = read("Rate_4_data"), read("Rate_5_data")
    yield rate("Rate_4", [(four["k"], four["n"])])
    yield rate("Rate_5", [(five["k1"], five["n1"]), (five["k2"], five["n2"])])
    for year in range(1972, 2001, 4):
        yield published(year)


def main():
    if data_folder() is None:
        print("BAYESVB_DATA names no folder with posteriordb")
        return
    warnings.simplefilter("ignore")
    keep(pd.DataFrame(list(lines())), "posteriordb")


if __name__ == "__main__":
    main()
