"""The log joint density of every public model is that of a model written in NumPyro.

The models stand for themselves: data are standardised here, priors are written as the tables of
priors say them, components are summed out by mixtures of NumPyro's distributions.
"""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import bayesvb as bvb
from bayesvb.numerics.special import normal_points

pytestmark = pytest.mark.mcmc

PCA = bvb.PcaPriors(noise_shape=2.0, noise_rate=1.0, relevance_shape=2.0, relevance_rate=1.0)
"""Nearly flat priors draw numbers of a hundred digits."""


@pytest.fixture
def names(x64):
    """NumPyro, its distributions, and JAX's numpy."""
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist

    return SimpleNamespace(
        sample=numpyro.sample,
        factor=numpyro.factor,
        scale=numpyro.handlers.scale,
        dist=dist,
        jnp=jnp,
    )


def standardised(values, weight):
    """Weighted mean zero and variance one, and the log of the unit."""
    centre = np.average(values, weights=weight)
    scale = np.sqrt(np.average((values - centre) ** 2, weights=weight))
    return (values - centre) / scale, np.log(scale)


def by_medians(values, weight):
    """The same by median and median absolute deviation of rows repeated by their weights."""
    repeated = np.repeat(values, weight)
    scale = 1.4826022185056018 * np.median(np.abs(repeated - np.median(repeated)))
    return (values - np.median(repeated)) / scale, np.log(scale)


def design(table, columns):
    rows = [standardised(table[name].to_numpy(), table["weight"])[0] for name in columns]
    return np.stack([np.ones(len(table)), *rows])


def sticks(n, n_terms, sd, intercept):
    """Prior means of the coefficients of sticks: equal weights at zero."""
    mean = np.zeros((n - 1, n_terms))
    mean[:, intercept] = -np.log(np.arange(n - 1, 0, -1.0))
    return mean, sd


def stick_probabilities(np_, logits):
    """Along the last axis."""
    stop, ones = 1.0 / (1.0 + np_.exp(-logits)), np_.ones((*logits.shape[:-1], 1))
    left = np_.cumprod(1.0 / (1.0 + np_.exp(logits)), axis=-1)
    left = np_.concatenate([ones, left], axis=-1)
    return np_.concatenate([stop, ones], axis=-1) * left


def mixture(names, weights, components, observed, weight):
    """Rows from a mixture, each as often as its weight says."""
    law = names.dist.MixtureSameFamily(names.dist.Categorical(probs=weights), components)
    with names.scale(scale=np.asarray(weight, dtype=float)):
        names.sample("rows", law, obs=observed)


def term_sds(names, name, intercept, n_terms):
    """Prior scales of an intercept, and of numeric terms, of which each has its own."""
    rate = 0.05 if name.startswith("gate") else 0.1
    law = names.dist.Gamma(0.5, rate).expand([n_terms - 1]).to_event(1)
    learned = names.sample(name, law)
    return names.jnp.concatenate([np.array([intercept]), 1.0 / names.jnp.sqrt(learned)])


def weights_of(names, case, gating):
    """Weights of two components at every row."""
    dist, np_, kind = names.dist, names.jnp, case.options.get("gate", "softmax")
    if case.kind == "GaussianMixture":
        return names.sample("gate", dist.Dirichlet(0.5 * np.ones(2)))
    if kind == "dirichlet":
        return names.sample("gate", dist.Dirichlet(np.ones(2)))
    if case.is_network or kind == "stick-breaking":
        sd = 5.0 if case.is_network else term_sds(names, "gate_term_precision", 5.0, len(gating))
        mean, sd = sticks(2, len(gating), sd, 0)
        coefficients = names.sample("gate", dist.Normal(mean, sd).to_event(2))
        return stick_probabilities(np_, (coefficients @ gating).T)
    if not case.has_unit or len(gating) == 1:  # of fixed scales
        sd = np.array([5.0, 1.5])[: len(gating)]
    else:
        sd = term_sds(names, "gate_term_precision", 5.0, len(gating))
    law = dist.Normal(np.zeros((2, len(gating))), sd).to_event(2)
    logits = (names.sample("gate", law) @ gating).T
    shares = np_.exp(logits - logits.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)


def lines(names, shape, sd, noise, n_terms, in_noise=True):
    """Coefficients and precisions of regressions."""
    dist, np_ = names.dist, names.jnp
    precision = names.sample("precision", dist.Gamma(*noise).expand(shape).to_event(len(shape)))
    scale = sd / np_.sqrt(precision)[..., None] if in_noise else sd * np_.ones((*shape, 1))
    zeros = np.zeros((*shape, n_terms))
    law = dist.Normal(zeros, scale * np_.ones(n_terms)).to_event(len(shape) + 1)
    return names.sample("coefficients", law), 1.0 / np_.sqrt(precision)


def couple(names, coefficients, sd, of_terms, n_rows):
    """Slopes scatter around common ones, whose scale is half-normal on a grid cut off below."""
    np_, dist = names.jnp, names.dist
    grid = np.geomspace(min(2.0 / np.sqrt(n_rows), 1.0), 8.0, 161)
    log_weight = np.log(grid) - 0.5 * grid**2
    log_weight -= np.logaddexp.reduce(log_weight)
    slopes, own = coefficients[:, 0, 1:].T, (sd * of_terms[1:]).T  # (terms, components)
    spread = own[:, :, None] ** 2 * np.eye(2) + grid[:, None, None, None] ** 2
    law = dist.MultivariateNormal(np.zeros(2), spread)
    each = law.log_prob(np_.broadcast_to(slopes, spread.shape[:-1])).sum(axis=1)
    joint = np_.log(np_.exp(each + log_weight - each.max()).sum()) + each.max()
    names.factor("common", joint - dist.Normal(0.0, own).log_prob(slopes).sum())


def density_regression(names, case, table):
    dist, np_, weight = names.dist, names.jnp, table["weight"]
    mean, _, gating = case.formula.partition("~")[2].partition("|")
    columns, of_sigma = [word.strip() for word in mean.split("+")], "sigma(" in gating
    x = design(table, columns)
    z = design(table, ["x"])[: 1 if of_sigma else 2] if gating else x
    to_units = by_medians if case.family == "student" else standardised
    y, units = zip(
        *(to_units(table[name].to_numpy(), weight) for name in case.explains), strict=True
    )
    in_noise = case.options.get("priors") is None
    shape = (2, len(y))
    of_terms = term_sds(names, "term_precision", 10.0, len(x))
    coefficients, sd = lines(names, shape, of_terms, (0.5, 0.01), len(x), in_noise)
    if in_noise and len(y) == 1:
        couple(names, coefficients, sd, of_terms, weight.sum())
    location = np_.moveaxis(coefficients @ x, -1, 0)
    if of_sigma:  # the level of the noise is its precision
        law = dist.Normal(np.zeros((2, 1)), 1.0).to_event(2)
        spread = names.sample("spread", law) @ design(table, ["x"])[1:]
        sd = sd * np_.exp(spread).T[:, :, None]
    if case.family == "student":
        dof = names.sample("dof", dist.Gamma(2.0, 0.1).expand([len(y)]).to_event(1))
        law = dist.StudentT(dof, location, sd).to_event(1)
    else:
        law = dist.Normal(location, sd).to_event(1)
    mixture(names, weights_of(names, case, z), law, np.stack(y, axis=1), weight)
    return sum(units)


def positive_law(names, family, predictor):
    """Laws of positive numbers whose shape is log-normal."""
    dist, np_ = names.dist, names.jnp
    law = dist.LogNormal(1.0, 2.0) if family == "gamma" else dist.LogNormal(0.0, 1.0)
    shape = names.sample("shape", law.expand([2]).to_event(1))
    if family == "weibull":
        return dist.Weibull(np_.exp(predictor), shape)
    return dist.Gamma(shape, shape / np_.exp(predictor))


def ordinal_regression(names, table, log_cdf):
    """One component, whose first threshold is 0, and a logistic or normal law."""
    dist, np_ = names.dist, names.jnp
    law = dist.Normal(np.zeros((1, 1, 2)), 10.0).to_event(3)
    predictor = names.sample("coefficients", law)[0, 0] @ design(table, ["z"])
    steps = names.sample("increments", dist.Normal(np.zeros((1, 2)), 2.0).to_event(2))[0]
    far = np_.array([np_.inf])
    at = np_.concatenate([-far, np_.zeros(1), np_.cumsum(np_.exp(steps)), far])
    level = table["grade"].to_numpy(int)
    below, above = at[level - 1] - predictor, at[level] - predictor
    right = below > 0.0  # differences of the smaller tail keep their digits
    ends = np_.where(right, -above, below), np_.where(right, -below, above)
    less, more = (log_cdf(end) for end in ends)
    names.factor(
        "rows", (table["weight"].to_numpy() * (more + np_.log1p(-np_.exp(less - more)))).sum()
    )
    return 0.0


def sequential_regression(names, table):
    """One component, and a Bernoulli distribution of each step that a row takes."""
    dist, np_ = names.dist, names.jnp
    law = dist.Normal(np.zeros((1, 1, 2)), 10.0).to_event(3)
    predictor = names.sample("coefficients", law)[0, 0] @ design(table, ["z"])
    further = names.sample("distances", dist.Normal(np.zeros((1, 2)), 5.0).to_event(2))[0]
    at = np_.concatenate([np_.zeros(1), further])
    level, total = table["grade"].to_numpy(int), 0.0
    for step in (1, 2, 3):
        law = dist.Bernoulli(logits=predictor - at[step - 1])
        weight = table["weight"].to_numpy() * (level >= step)
        total += (weight * law.log_prob((level > step).astype(float))).sum()
    names.factor("rows", total)
    return 0.0


def predictor_regression(names, case, table):
    """Regressions of one predictor, whose priors have fixed scales."""
    dist, np_ = names.dist, names.jnp
    if case.family == "sequential":
        return sequential_regression(names, table)
    if case.family.startswith("ordinal"):
        from jax.nn import log_sigmoid
        from jax.scipy.special import log_ndtr

        probit = case.family == "ordinal-probit"
        return ordinal_regression(names, table, log_ndtr if probit else log_sigmoid)
    law = dist.Normal(np.zeros((2, 1, 2)), 2.5).to_event(3)
    predictor = (names.sample("coefficients", law)[:, 0] @ design(table, ["z"])).T
    if case.family in ("bernoulli", "binomial"):  # of one trial
        law = dist.Bernoulli(logits=predictor)
    elif case.family == "negbinomial":
        law = dist.LogNormal(1.6, 2.0).expand([2]).to_event(1)
        law = dist.NegativeBinomial2(np_.exp(predictor), names.sample("dispersion", law))
    elif case.family == "poisson":
        law = dist.Poisson(np_.exp(predictor))
    else:
        law = positive_law(names, case.family, predictor)
    weights = weights_of(names, case, design(table, ["x"]))
    mixture(names, weights, law, table[case.explains[0]].to_numpy(), table["weight"])
    return 0.0


def gaussian_mixture(names, case, table):
    dist, np_, weight = names.dist, names.jnp, table["weight"]
    y, units = zip(*(standardised(table[c].to_numpy(), weight) for c in case.explains), strict=True)
    dof, scatter = 5.0, 0.3**2 * 2.0
    if case.options["covariance"] == "full":
        law = dist.Wishart(dof, scale_matrix=np.eye(2) / scatter).expand([2]).to_event(1)
        precision = names.sample("precision", law)
        law = dist.MultivariateNormal(np.zeros((2, 2)), precision_matrix=0.05 * precision)
        mean = names.sample("mean", law.to_event(1))
        law = dist.MultivariateNormal(mean, precision_matrix=precision)
    else:
        law = dist.Gamma(0.5 * (dof + 1.0 - 2.0), 0.5 * scatter).expand([2, 2]).to_event(2)
        precision = names.sample("precision", law)
        spread = 1.0 / np_.sqrt(0.05 * precision)
        mean = names.sample("mean", dist.Normal(np.zeros((2, 2)), spread).to_event(2))
        law = dist.Normal(mean, 1.0 / np_.sqrt(precision)).to_event(1)
    weights = np_.broadcast_to(weights_of(names, case, None), (len(table), 2))
    mixture(names, weights, law, np.stack(y, axis=1), weight)
    return sum(units)


def network(names, case, table):
    dist, np_, weight = names.dist, names.jnp, table["weight"]
    x = design(table, ["x", "z"])
    classes = "label" in case.explains
    n_latents = 2 if classes else 1
    coefficients, sd = lines(names, (2, n_latents), np.sqrt(10.0), (2.0, 1.0), len(x))
    weights = weights_of(names, case, x)
    location = np_.moveaxis(coefficients @ x, -1, 0)  # rows, experts, latents
    if classes:
        mean, spread = sticks(3, n_latents + 1, 5.0, -1)
        output = names.sample("output", dist.Normal(mean, spread).to_event(2))
        points = normal_points(n_latents, 64)
        latents = location[:, :, None] + sd[:, None] * points
        logits = latents @ output[:, :-1].T + output[:, -1]
        each = stick_probabilities(np_, logits).mean(axis=2)  # rows, experts, classes
        law = dist.Categorical(probs=np_.einsum("nk,nkc->nc", weights, each))
        with names.scale(scale=weight.to_numpy(dtype=float)):
            names.sample("rows", law, obs=table["label"].astype("category").cat.codes.to_numpy())
        return 0.0
    y, unit = standardised(table["y"].to_numpy(), weight)
    noise = names.sample("output_precision", dist.Gamma(0.5, 0.01).expand([1]).to_event(1))
    spread = 5.0 / np_.sqrt(noise)[:, None] * np_.ones(n_latents + 1)
    zeros = np.zeros((1, n_latents + 1))
    output = names.sample("output", dist.Normal(zeros, spread).to_event(2))[0]
    variance = (sd**2 * output[:-1] ** 2).sum(axis=1) + 1.0 / noise[0]
    law = dist.Normal(location @ output[:-1] + output[-1], np_.sqrt(variance))
    mixture(names, weights, law, y, weight)
    return unit


def principal_components(names, case, table, scaling):
    dist, np_ = names.dist, names.jnp
    values = (table[list(case.explains)].to_numpy() - scaling.centre) / scaling.scale
    n_dims, n_scores = 3, 2
    precision = names.sample("precision", dist.Gamma(2.0, 1.0))
    relevance = names.sample("relevance", dist.Gamma(2.0, 1.0).expand([n_scores]).to_event(1))
    spread = 1.0 / np_.sqrt(precision * relevance) * np_.ones((n_dims, 1))
    law = dist.Normal(np.zeros((n_dims, n_scores)), spread).to_event(2)
    loadings = names.sample("loadings", law)
    law = dist.Normal(np.zeros(n_dims), 1.0 / np_.sqrt(0.001 * precision)).to_event(1)
    centre = names.sample("centre", law)
    covariance = loadings @ loadings.T + np_.eye(n_dims) / precision
    seen = ~np.isnan(values)
    for number, pattern in enumerate(np.unique(seen, axis=0)):
        rows = (seen == pattern).all(axis=1)
        some = covariance[np.ix_(pattern, pattern)]
        law = dist.MultivariateNormal(centre[pattern], some)
        with names.scale(scale=table["weight"].to_numpy(dtype=float)[rows]):
            names.sample(f"rows {number}", law, obs=values[rows][:, pattern])
    return seen @ np.log(scaling.scale)


def normal(names, case, table):
    dist, np_ = names.dist, names.jnp
    y, unit = standardised(table["y"].to_numpy(), table["weight"])
    precision = names.sample("precision", dist.Gamma(0.01, 0.01))
    mean = names.sample("mean", dist.Normal(0.0, 1.0 / np_.sqrt(0.01 * precision)))
    with names.scale(scale=table["weight"].to_numpy(dtype=float)):
        names.sample("rows", dist.Normal(mean, 1.0 / np_.sqrt(precision)), obs=y)
    return unit


def test_the_log_joint_is_that_of_numpyro(case, table, names):
    from numpyro.infer.util import log_density

    table = table.assign(weight=table["weight"] + 1)
    own = {"priors": PCA} if case.kind == "BayesianPCA" else {}
    model = case.model(table, weights="weight", **own)
    draws = model.prior_draws(4, seed=5)
    written = {
        "DensityRegression": density_regression if case.has_unit else predictor_regression,
        "GaussianMixture": gaussian_mixture,
        "ConditionalMixtureNetwork": network,
        "BayesianPCA": principal_components,
        "Normal": normal,
    }[case.kind]
    more = (model.scaling,) if case.kind == "BayesianPCA" else ()
    found = model.log_joint(draws)
    for s in range(4):
        point = {name: values[s] for name, values in draws.items()}
        if "dof" in point:
            point["dof"] = point["dof"][0]
        unit = []

        def of_rows(unit=unit):
            unit.append(written(names, case, table, *more))

        expected, _ = log_density(of_rows, (), {}, point)
        expected = float(expected) - float((table["weight"] * unit[0]).sum())
        assert_allclose(found[s], expected, rtol=1e-8, atol=1e-8)


def couple_groups(names, coefficients, own):
    """Effects of groups scatter around common ones, whose standard deviation is half-t."""
    np_, dist = names.jnp, names.dist
    law = dist.ImproperUniform(dist.constraints.positive, (), (1,))
    precision = names.sample("common_precision", law)[0]
    common_sd = 1.0 / np_.sqrt(precision)
    half_t = np_.log(2.0) + dist.StudentT(3.0).log_prob(common_sd)
    names.factor("common sd", half_t + np_.log(common_sd / (2.0 * precision)))
    effects = coefficients.T  # (groups, components)
    law = dist.MultivariateNormal(np.zeros(2), own**2 * np_.eye(2) + common_sd**2)
    change = law.log_prob(effects).sum() - dist.Normal(0.0, own).log_prob(effects).sum()
    names.factor("common effects", change)


def test_the_log_joint_with_common_group_effects_is_that_of_numpyro(names):
    from numpyro.infer.util import log_density

    rng, n, n_groups = np.random.default_rng(0), 40, 4
    table = pd.DataFrame({"x": rng.normal(size=n), "g": np.arange(n) % n_groups, "weight": 1.0})
    table["y"] = rng.normal(size=n) + rng.normal(size=n_groups)[table["g"]]
    model = bvb.DensityRegression("y ~ x + (1 | g) | x", table, n_components=2)
    draws = model.prior_draws(4, seed=5)
    z = design(table, ["x"])
    of_groups = np.eye(n_groups + 1)[table["g"]].T  # one more for new groups
    y, unit = standardised(table["y"].to_numpy(), table["weight"])

    def of_rows():
        dist, np_ = names.dist, names.jnp
        law = dist.Gamma(0.5, np.array([0.1, 0.02])).to_event(1)
        differences = 1.0 / np_.sqrt(names.sample("term_precision", law))
        sds = np_.append(10.0, np_.repeat(differences, np.array([1, n_groups + 1])))
        x = np.vstack([z, of_groups])
        coefficients, sd = lines(names, (2, 1), sds, (0.5, 0.01), len(x))
        couple(names, coefficients[:, :, :2], sd, sds[:2], n)
        couple_groups(names, coefficients[:, 0, 2:], (sd * differences[1]).T)
        logit_sd = term_sds(names, "gate_term_precision", 5.0, 2)
        law = dist.Normal(np.zeros((2, 2)), logit_sd).to_event(2)
        logits = (names.sample("gate", law) @ z).T
        shares = np_.exp(logits - logits.max(axis=1, keepdims=True))
        shares = shares / shares.sum(axis=1, keepdims=True)
        law = dist.Normal((coefficients[:, 0] @ x).T, sd[:, 0])
        mixture(names, shares, law, y, table["weight"])

    for s, found in enumerate(model.log_joint(draws)):
        point = {name: values[s] for name, values in draws.items()}
        expected, _ = log_density(of_rows, (), {}, point)
        assert_allclose(found, float(expected) - n * unit, rtol=1e-8, atol=1e-8)


def test_the_log_joint_with_structural_zeros_is_that_of_numpyro(names):
    from numpyro.infer.util import log_density

    rng, n = np.random.default_rng(0), 40
    table = pd.DataFrame({"x": rng.normal(size=n), "z": rng.normal(size=n), "weight": 2.0})
    table["y"] = rng.poisson(3.0, n) * (rng.random(n) < 0.6)
    priors = bvb.Priors(scales="fixed", coefficient_sd=10.0)
    options = {"family": "negbinomial", "weights": "weight", "priors": priors}
    model = bvb.DensityRegression("y ~ x | zero(z)", table, n_components=2, **options)
    draws = model.prior_draws(4, seed=5)
    x, z = design(table, ["x"]), design(table, ["z"])

    def of_rows():
        dist, np_ = names.dist, names.jnp
        law = dist.Normal(np.zeros((2, 1, 2)), 10.0).to_event(3)
        mean = np_.exp((names.sample("coefficients", law)[:, 0] @ x).T)
        law = dist.LogNormal(1.6, 2.0).expand([2]).to_event(1)
        counts = dist.NegativeBinomial2(mean, names.sample("dispersion", law))
        logits = names.sample("gate", dist.Normal(np.zeros((2, 1)), 5.0).to_event(2))[:, 0]
        weights = np_.exp(logits) / np_.exp(logits).sum()
        counts = dist.MixtureSameFamily(dist.Categorical(probs=weights), counts)
        zero = names.sample("zero", dist.Normal(np.zeros((1, 2)), 2.5).to_event(2))[0] @ z
        law = dist.ZeroInflatedDistribution(counts, gate_logits=zero)
        with names.scale(scale=table["weight"].to_numpy()):
            names.sample("rows", law, obs=table["y"].to_numpy())

    for s, found in enumerate(model.log_joint(draws)):
        point = {name: values[s] for name, values in draws.items()}
        expected, _ = log_density(of_rows, (), {}, point)
        assert_allclose(found, float(expected), rtol=1e-8, atol=1e-8)
