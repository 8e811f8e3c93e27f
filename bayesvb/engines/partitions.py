"""Initialisation: soft partitions of the rows, estimated from a sample, applied by block."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from bayesvb.data.blocks import PRODUCTS, Block
from bayesvb.data.group_rows import GATE_GROUPS, GROUP_ROWS
from bayesvb.data.parts import SIGMA_OFFSET
from bayesvb.data.response_columns import RESPONSE_COLUMNS
from bayesvb.numerics.arrays import ExpertRows, Indices, RowIntegers
from bayesvb.numerics.kmeans import kmeans_centres

SAMPLE_ROWS = 2000
"""Rows from which a start is made; more do not change it noticeably."""

OWN_SHARE = 0.9
"""Responsibility of a row's own component; the rest is spread over all."""


class AbstractPartition(abc.ABC):
    """A partition of the rows into components."""

    n_components: int

    @abc.abstractmethod
    def labels(self, block: Block) -> RowIntegers:
        """Component of each row, from 0."""

    def responsibilities(self, block: Block) -> ExpertRows:
        """Soft partition: most of a row's weight on its own component."""
        result = np.full((self.n_components, block.n_rows), (1.0 - OWN_SHARE) / self.n_components)
        result[self.labels(block), np.arange(block.n_rows)] += OWN_SHARE
        return result


@dataclass(frozen=True)
class NearestCentre(AbstractPartition):
    """Nearest of given centres in the space of response and covariates.

    Attributes
    ----------
    columns : ndarray, shape (columns,)
        Numbers of the features used.
    centres : ndarray, shape (experts, columns)
    n_components : int
    """

    columns: Int[np.ndarray, " columns"]
    centres: Float[np.ndarray, "experts columns"]
    n_components: int

    def labels(self, block: Block) -> RowIntegers:
        """Nearest centre."""
        points = features(block)[self.columns]
        offset = 0.5 * (self.centres * self.centres).sum(axis=1)
        return np.asarray(np.argmin(offset[:, None] - self.centres @ points, axis=0))


@dataclass(frozen=True)
class ResidualSlices(AbstractPartition):
    """Slices of one direction in the space of response and covariates.

    Attributes
    ----------
    columns : ndarray, shape (columns,)
        Numbers of the features used.
    direction : ndarray, shape (columns,)
    cuts : ndarray, shape (experts - 1,)
    n_components : int
    """

    columns: Int[np.ndarray, " columns"]
    direction: Float[np.ndarray, " columns"]
    cuts: Float[np.ndarray, " cuts"]
    n_components: int

    def labels(self, block: Block) -> RowIntegers:
        """Number of cuts below the row."""
        return np.asarray(
            np.searchsorted(self.cuts, self.direction @ features(block)[self.columns])
        )


def features(block: Block) -> Float[np.ndarray, "columns rows"]:
    """Responses, then the columns of every part."""
    products = [name for name in block.designs if name.endswith(PRODUCTS)]
    apart = (GROUP_ROWS, GATE_GROUPS, SIGMA_OFFSET, *RESPONSE_COLUMNS, *products)
    designs = [matrix for name, matrix in block.designs.items() if name not in apart]
    return np.concatenate([block.response, *designs])


def distinct_columns(sample: Block) -> Indices:
    """Numbers of the features that vary and are not there already: parts share covariates."""
    points = features(sample)
    varies = np.ptp(points, axis=1) > 0.0
    varies[: len(sample.response)] = True
    # np.unique makes a type with a field for each row: half a fit of 1,000 rows was spent on it.
    first = {key: number for number, key in reversed(list(enumerate(_keys(points))))}
    return np.array(sorted(set(first.values()) & set(np.flatnonzero(varies).tolist())))


def _keys(points: Float[np.ndarray, "vectors numbers"]) -> Iterator[bytes]:
    """Bytes of each vector, the same for equal ones: zeros have no sign."""
    return (vector.tobytes() for vector in points + 0.0)


def kmeans_start(sample: Block, n_components: int, rng: np.random.Generator) -> AbstractPartition:
    """Centres of k-means, seeded by k-means++."""
    columns = distinct_columns(sample)
    points = features(sample)[columns]
    if n_components >= len(set(_keys(points.T))):
        return seeds_start(sample, n_components, rng)
    return NearestCentre(columns, kmeans_centres(points, n_components, rng), n_components)


def seeds_start(sample: Block, n_components: int, rng: np.random.Generator) -> AbstractPartition:
    """Rows drawn at random as centres."""
    columns = distinct_columns(sample)
    points = features(sample)[columns]
    n_rows = points.shape[1]
    chosen = rng.choice(n_rows, n_components, replace=n_rows < n_components)
    return NearestCentre(columns, np.ascontiguousarray(points[:, chosen].T), n_components)


def residual_start(sample: Block, n_components: int, rng: np.random.Generator) -> AbstractPartition:
    """Slices of the residuals of least squares, the direction jittered by the covariates.

    Without a response, slices of a random direction.
    """
    columns = distinct_columns(sample)
    points = features(sample)[columns]
    n_responses = len(sample.response)
    shares = np.arange(1, n_components) / n_components
    if n_responses == 0:
        direction = rng.standard_normal(len(points))
        return ResidualSlices(
            columns, direction, np.quantile(direction @ points, shares), n_components
        )
    covariates = points[n_responses:]
    weights = rng.standard_normal(n_responses) if n_responses > 1 else np.ones(1)
    response = weights @ points[:n_responses]
    slope = np.linalg.lstsq(covariates.T, response, rcond=None)[0]
    spread = float(np.std(response - slope @ covariates))
    jitter = 0.3 * spread * rng.standard_normal(len(slope)) / max(len(slope), 1) ** 0.5
    direction = np.concatenate([weights, jitter - slope])
    return ResidualSlices(columns, direction, np.quantile(direction @ points, shares), n_components)


@dataclass(frozen=True)
class OnePart(AbstractPartition):
    """All rows in the first component."""

    n_components: int = 1

    def labels(self, block: Block) -> RowIntegers:
        """Zeros."""
        return np.zeros(block.n_rows, dtype=np.intp)


def one_part_start(sample: Block, n_components: int, rng: np.random.Generator) -> AbstractPartition:
    """Nothing is divided, for models that bring starts of their own."""
    return OnePart()


def one_component_start(
    sample: Block, n_components: int, rng: np.random.Generator
) -> AbstractPartition:
    """All rows in one component: the others gain rows only where they predict them better."""
    return OnePart(n_components)


def two_component_start(
    sample: Block, n_components: int, rng: np.random.Generator
) -> AbstractPartition:
    """Two clusters of k-means in the first two components."""
    start = kmeans_start(sample, 2, rng)
    return replace(start, n_components=n_components)  # type: ignore[type-var]


@dataclass(frozen=True)
class FittedPart(AbstractPartition):
    """Responsibilities under the posterior of a fit; components beyond its own are empty.

    Attributes
    ----------
    model : AbstractVariationalModel
        With at most ``n_components``.
    posterior : object
    n_components : int
    """

    model: Any
    posterior: object
    n_components: int

    def labels(self, block: Block) -> RowIntegers:
        """Component with the largest responsibility."""
        return np.asarray(self.responsibilities(block).argmax(axis=0))

    def responsibilities(self, block: Block) -> ExpertRows:
        """Responsibilities, and zeros."""
        known = self.model.responsibilities(self.posterior, block)
        return np.pad(known, [(0, self.n_components - len(known)), (0, 0)])


@dataclass(frozen=True)
class KnownStart:
    """A start from the fit of a similar model, after which few others may do.

    Attributes
    ----------
    name : str
    partition : AbstractPartition
    probes : int
        Other starts that run in any case. The remaining ones follow if one of them ends higher.
    margin : float
        Nats by which it has to end higher.
    """

    name: str
    partition: AbstractPartition
    probes: int
    margin: float

    def divide(
        self, sample: Block, n_components: int, rng: np.random.Generator
    ) -> AbstractPartition:
        """Return the partition, a ``Starter``."""
        return self.partition


Starter = Callable[[Block, int, np.random.Generator], AbstractPartition]

STARTS: dict[str, Starter] = {
    "k-means": kmeans_start,
    "residuals": residual_start,
    "random": seeds_start,
}

ONE_COMPONENT, TWO_COMPONENTS = "one component", "two components"
"""Names of the starts with this number of occupied components, which models must request."""

FEW_COMPONENTS: dict[str, Starter] = {
    TWO_COMPONENTS: two_component_start,
    ONE_COMPONENT: one_component_start,
}
"""Starts in which few components have rows."""
