"""Random problems, built in the same way for every gate; every public model, on one table."""

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add

import numpy as np
import pandas as pd
import pytest

from bayesvb.data.blocks import Block
from bayesvb.data.sources import InMemorySource
from bayesvb.distributions.prediction import KINDS
from bayesvb.errors import ConvergenceWarning, PriorError
from bayesvb.estimators import MODELS
from bayesvb.estimators.priors import Priors
from bayesvb.experts import EXPERTS, GAUSSIAN_EXPERTS
from bayesvb.experts.linear import LinearExperts
from bayesvb.experts.linked import AbstractLinkedExperts
from bayesvb.experts.regression import AbstractRegressionExperts, RegressionPrior
from bayesvb.factors import MatrixNormalGamma, Normal
from bayesvb.gates import GATES
from bayesvb.gates.base import AbstractGate, GatePrior
from bayesvb.models.mixture import Mixture


@dataclass(frozen=True)
class Problem:
    """Rows, a mixture, and a soft partition of the rows to start from."""

    model: Mixture
    block: Block
    partition: np.ndarray

    def source(self, size: int | None = None, workers: int = 1) -> InMemorySource:
        """The rows in blocks of this size."""
        return InMemorySource(tuple(self.block.split(size or self.block.n_rows)), workers=workers)

    def start(self):
        """Statistics of the first posterior."""
        return self.model.first_stats(self.model.partition_stats(self.block, self.partition))

    def posterior(self, sweeps: int = 3):
        """A posterior some plain sweeps on."""
        posterior = self.model.update(self.start())
        for _ in range(sweeps):
            stats = self.model.e_step(posterior, self.block).stats
            posterior = self.model.update(self.model.global_step(posterior, stats))
        return posterior

    def with_block(self, block: Block) -> "Problem":
        """The same model and partition for other rows."""
        return replace(self, block=block)


def design(rng, n_terms: int, n_rows: int) -> np.ndarray:
    """Intercept and standard normal covariates, terms first."""
    return np.vstack([np.ones((1, n_rows)), rng.normal(size=(n_terms - 1, n_rows))])


def random_prior(rng, n_terms: int) -> GatePrior:
    """Prior of a gate with correlated coefficients and a mean that is not zero."""
    root = np.eye(n_terms) + 0.2 * rng.normal(size=(n_terms, n_terms))
    coefficients = Normal.from_precision(0.3 * rng.normal(size=n_terms), root @ root.T)
    return GatePrior(coefficients, np.eye(n_terms)[0], float(rng.uniform(0.5, 2.0)))


def relabelled_gate(n_components: int, prior: GatePrior) -> AbstractGate:
    """Stick-breaking whose sticks stop at components in another order than that of the labels."""
    gate = GATES["stick-breaking"].from_prior(n_components, prior)
    row = Block({"gating": prior.intercept[:, None]}, np.zeros((0, 1)))
    stats = gate.local(gate.start(), row).sufficient_stats(np.ones((n_components, 1)))
    order = np.roll(np.arange(n_components), 1)
    return gate.permuted(order.tolist(), stats)[0]


BUILDERS: dict[str, Callable[[int, GatePrior], AbstractGate]] = {
    **{name: gate.from_prior for name, gate in GATES.items()},
    "stick-breaking relabelled": relabelled_gate,
}


@pytest.fixture(params=BUILDERS)
def gate_name(request) -> str:
    """Every gate in turn."""
    return request.param


def has_logits(gate: AbstractGate) -> bool:
    """Whether the parameters of the gate are coefficients of Gaussian logits."""
    return isinstance(gate.prior, Normal)


def some_gate(name: str) -> AbstractGate:
    """Gate of this name, to ask what it is."""
    return BUILDERS[name](2, random_prior(np.random.default_rng(1), 2))


@pytest.fixture(params=[name for name in BUILDERS if has_logits(some_gate(name))])
def logit_gate_name(request) -> str:
    """Every gate whose posterior is a Gaussian of logit coefficients."""
    return request.param


@pytest.fixture
def make_gate() -> Callable[..., AbstractGate]:
    """Gate of this name with a random prior."""

    def build(name, n_components, n_terms, rng, *, centred=False):
        prior = random_prior(rng, n_terms)
        if centred:
            mean = np.zeros_like(prior.coefficients.mean)
            prior = replace(prior, coefficients=replace(prior.coefficients, mean=mean))
        return BUILDERS[name](n_components, prior)

    return build


@pytest.fixture
def make_described_gate() -> Callable[[str, int, GatePrior], AbstractGate]:
    """Gate of this name with a given prior."""
    return lambda name, n_components, prior: BUILDERS[name](n_components, prior)


@pytest.fixture
def make_problem(make_gate) -> Callable[..., Problem]:
    """Problem with two covariate-dependent regimes and any number of experts."""

    def build(name, *, seed, experts=3, rows=80, terms=2, responses=1, weighted=False):
        rng = np.random.default_rng(seed)
        x, z = design(rng, terms, rows), design(rng, max(terms - 1, 2), rows)
        prior = MatrixNormalGamma.prior(
            0.2 * rng.normal(size=(responses, terms)),
            0.3 * np.eye(terms) + 0.05,
            1.5,
            rng.uniform(0.3, 1.0, size=responses),
        )
        regime = rng.uniform(size=rows) < 1.0 / (1.0 + np.exp(-2.0 * z[1]))
        slopes = rng.normal(size=(2, responses, terms))
        noise = 0.3 * rng.normal(size=(responses, rows))
        y = np.where(regime, slopes[0] @ x, slopes[1] @ x) + noise
        weight = rng.integers(0, 4, size=rows).astype(float) if weighted else None
        block = Block({"mean": x, "gating": z}, y, weight)
        gate = make_gate(name, experts, len(z), rng)
        partition = rng.dirichlet(np.full(experts, 0.5), size=rows).T.copy()
        return Problem(Mixture(LinearExperts(prior), gate), block, partition)

    return build


@pytest.fixture
def total() -> Callable:
    """Sum of records."""
    return lambda records: reduce(add, records)


# -- public models -------------------------------------------------------------------------------

ROWS = 90

BRIEF = {
    "seed": 3,
    "restarts": 2,
    "combine": "best",
    "draws": 25,
    "max_iter": 4,
    "covariance": "mean-field",
}
"""Of fits whose bits are compared, which need not have converged."""

READS = {
    "interval": {"prob": 0.5},
    "quantile": {"q": [0.1, 0.5]},
    "cdf": {"at": [0.0, 2.0]},
    "density": {"at": [0.0, 2.0]},
    "draws": {"n": 5, "seed": 1},
}
"""Options of the kinds of prediction of a number that read some."""


VARIATIONS = {
    "in noise": {},
    "in response": {"in_noise": False},
    "dof 3": {"dof": 3.0},
}
"""What a prior may say besides numbers; a family may refuse it."""


def prior_of(variation, **numbers):
    """Prior on the standardised scale with a few numbers of its own."""
    given = {"n_responses": 1, "n_terms": 2, "coefficient_sd": 3.0, "in_noise": True}
    given |= {"noise_shape": 1.5, "noise_rate": 0.3}
    return RegressionPrior(**(given | VARIATIONS[variation] | numbers))


PRIORS = {"gaussian": Priors(coefficient_units="response")}
"""Priors of a family other than the default, which the cases of the gates have."""


def numeric(*, discrete: bool = False, **response: str) -> tuple[dict[str, object], ...]:
    """Every kind of prediction of a number; single values of a discrete one have probabilities."""
    kinds = [kind for kind in KINDS if discrete or kind != "probability"]
    return tuple({"kind": kind, **READS.get(kind, {}), **response} for kind in kinds)


@dataclass(frozen=True)
class Case:
    """A public model of the columns of ``table``.

    ``explains`` are the columns whose density it has, ``reads`` those without which there is no
    prediction, ``asks`` predictions of every kind, ``number`` the option that makes one of a number
    (None: there is none), ``common`` says that all its columns have one unit, ``is_discrete`` that
    the response is 0 or 1, ``is_positive`` that it is above 0.
    """

    kind: str
    formula: str
    options: Mapping[str, object] = field(default_factory=dict)
    explains: tuple[str, ...] = ("y",)
    reads: tuple[str, ...] = ("x", "z")
    asks: tuple[dict[str, object], ...] = numeric()
    number: Mapping[str, str] | None = field(default_factory=dict)
    common: bool = False
    is_discrete: bool = False
    is_positive: bool = False

    @property
    def has_unit(self) -> bool:
        """Whether the response may be in other units, and its scale is learned of the data."""
        return not (self.is_discrete or self.is_positive)

    @property
    def is_network(self) -> bool:
        return self.kind == "ConditionalMixtureNetwork"

    @property
    def family(self) -> str:
        """Likelihood of a component."""
        return str(self.options.get("family", "gaussian"))

    def model(self, data: pd.DataFrame, **options: object):
        """The model of these rows."""
        return MODELS[self.kind](self.formula, data, **{**self.options, **options})

    def fit(self, model, **options: object):
        """A fit that may stop early: what it means does not hang on convergence."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return model.fit(**{"n_jobs": 1, **options})

    def brief_fit(self, model, **options: object):
        """A fit of a few sweeps."""
        return self.fit(model, **{**BRIEF, **options})

    def answers(self, fit, rows: object) -> Iterator[pd.Series | pd.DataFrame]:
        """Predictions of every kind, and the log density."""
        yield from (fit.predict(rows, **ask) for ask in self.asks)
        yield fit.log_density(rows)


def density(**options: object) -> Case:
    return Case("DensityRegression", "y ~ x + z | gating(x)", {"n_components": 2, **options})


def regression(family: str) -> Case:
    """A family with a response that it can have."""
    described = EXPERTS[family](prior_of("in noise")).response
    if described.kind == "continuous":
        return density(family=family, priors=PRIORS.get(family))
    if described.kind == "levels":
        return Case(
            "DensityRegression",
            "grade ~ z",
            {"n_components": 1, "family": family, "priors": Priors(scales="fixed")},
            explains=("grade",),
            reads=("z",),
            asks=numeric(discrete=True),
            is_discrete=True,
        )
    if described.kind == "positive":
        return Case(
            "DensityRegression",
            "size ~ z | gating(x)",
            {"n_components": 2, "family": family, "priors": Priors(scales="fixed")},
            explains=("size",),
            is_positive=True,
        )
    return Case(
        "DensityRegression",
        "high ~ z | gating(x)",
        {"n_components": 2, "family": family, "priors": Priors(scales="fixed")},
        explains=("high",),
        asks=numeric(discrete=True),
        is_discrete=True,
    )


def gaussians(covariance: str) -> Case:
    asks = tuple({"kind": kind} for kind in ("density", "component", "class"))
    return Case(
        "GaussianMixture",
        "~ y + x",
        {"n_components": 2, "covariance": covariance},
        explains=("y", "x"),
        reads=("y", "x"),
        asks=(*asks, *numeric(response="x")),
        number={"response": "x"},
    )


def components(*columns: str, **options: object) -> Case:
    kinds = ("scores", "scores-sd", "reconstruction", "impute", "density")
    return Case(
        "BayesianPCA",
        f"~ {' + '.join(columns)}",
        options,
        explains=columns,
        reads=(),
        asks=(*({"kind": kind} for kind in kinds), *numeric(response="x")),
        number={"response": "x"},
        common="scale" not in options,
    )


CASES = {
    **{f"density, {gate}": density(gate=gate) for gate in GATES},
    **{f"density, {family}": regression(family) for family in EXPERTS},
    "density, sigma": Case(
        "DensityRegression",
        "y ~ x | sigma(x)",
        {"n_components": 2},
        explains=("y",),
        reads=("x",),
        asks=numeric(),
    ),
    "density, two responses": Case(
        "DensityRegression",
        "y + u ~ x",
        {"n_components": 2},
        explains=("y", "u"),
        reads=("x",),
        asks=(*numeric(response="y"), *numeric(response="u")),
        number={"response": "u"},
    ),
    "network, classes": Case(
        "ConditionalMixtureNetwork",
        "label ~ x + z",
        {"n_experts": 2},
        explains=("label",),
        asks=(
            {"kind": "probability"},
            {"kind": "probability", "prob": 0.5, "n": 20},
            {"kind": "class"},
            {"kind": "component"},
        ),
        number=None,
    ),
    "network, numbers": Case("ConditionalMixtureNetwork", "y ~ x + z", {"n_experts": 2}),
    **{f"gaussians, {covariance}": gaussians(covariance) for covariance in GAUSSIAN_EXPERTS},
    "components": components("y", "x", "z"),
    "components, scaled": components("y", "x", "z", scale=True),
    "components, gaps": components("y", "x", "gap"),
    "normal": Case("Normal", "y ~ 1", reads=()),
}


@pytest.fixture(scope="session")
def table() -> pd.DataFrame:
    """Two regimes; classes with overlap; a column with gaps. Whole numbers for weights."""
    rng = np.random.default_rng(20260712)
    x, z = rng.uniform(-2.0, 2.0, ROWS), rng.normal(size=ROWS)
    first = rng.uniform(size=ROWS) < 1.0 / (1.0 + np.exp(-2.0 * x))
    y = np.where(first, 4.0 + 2.0 * x, -3.0 - x + 0.5 * z) + 0.4 * rng.normal(size=ROWS)
    label = np.where(y + rng.normal(size=ROWS) > 2.0, "high", np.where(z > 0.0, "left", "low"))
    columns = {"y": y, "x": x, "z": z, "u": np.cos(x) + 0.2 * rng.normal(size=ROWS)}
    gap = np.where(rng.uniform(size=ROWS) < 0.15, np.nan, z)
    weight = np.argsort(np.argsort(y)) // 4 % 4
    high = (label == "high").astype(float)
    more = {"label": label, "gap": gap, "weight": weight, "high": high, "size": np.exp(0.3 * y)}
    more["grade"] = 1.0 + np.digitize(y, [-3.0, 2.0, 4.0])
    return pd.DataFrame({**columns, **more})


@pytest.fixture(scope="session")
def new(table) -> pd.DataFrame:
    """Some rows in another order."""
    return table.iloc[[7, 3, 40, 11, 80, 2, 66]]


@pytest.fixture(scope="session")
def cases() -> dict[str, Case]:
    """All public models, with every gate, family and form of covariances."""
    return CASES


MORE_CASES = {
    "density, softmax-jensen",
    "density, softmax-bouchard",
    "density, stick-breaking",
    "density, dirichlet",
    "density, gaussian",
    "network, numbers",
    "density, sigma",
    "gaussians, diagonal",
    "components",
    "components, scaled",
}
"""Each is beside another of its model, with another gate, prior or form of covariances."""


@pytest.fixture(
    scope="session",
    params=[pytest.param(name, marks=[pytest.mark.heavy] * (name in MORE_CASES)) for name in CASES],
)
def case(request) -> Case:
    """Every public model in turn."""
    return CASES[request.param]


@pytest.fixture(scope="session")
def fit(case, table):
    """A fit of it, of several restarts where that is its default."""
    passes = 30 if case.is_network else 2000
    return case.fit(case.model(table), seed=1, restarts=2, draws=200, max_iter=passes)


def accepted(family, variation):
    """Whether the family has such a prior, and reads it: those of a predictor have one unit."""
    try:
        experts = EXPERTS[family](prior_of(variation))
    except PriorError:
        return False
    return variation == "in noise" or not isinstance(experts, AbstractLinkedExperts)


EXPERT_KINDS = {
    f"{family}, {variation}": (family, variation)
    for family in EXPERTS
    for variation in VARIATIONS
    if accepted(family, variation)
}


@pytest.fixture(params=EXPERT_KINDS)
def expert_kind(request):
    """Every family with every prior that it takes."""
    return request.param


@pytest.fixture(
    params=[
        kind
        for kind, (family, variation) in EXPERT_KINDS.items()
        if EXPERTS[family](prior_of(variation)).response.kind == "continuous"
    ]
)
def density_kind(request):
    """Every family of a continuous response, with every prior that it takes."""
    return request.param


@pytest.fixture
def experts_of() -> Callable[..., AbstractRegressionExperts]:
    """Experts of a kind, with a few numbers of their prior."""

    def build(kind, **numbers):
        family, variation = EXPERT_KINDS[kind]
        return EXPERTS[family](prior_of(variation, **numbers))

    return build
