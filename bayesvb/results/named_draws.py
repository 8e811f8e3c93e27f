"""Draws by name, and likelihoods of rows under draws, a few rows at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np

from bayesvb.data.blocks import Block
from bayesvb.data.sources import AbstractSource
from bayesvb.engines.sampler_record import SamplerRecord
from bayesvb.numerics.arrays import DrawRows, DrawValues, DrawVector
from bayesvb.results.limits import LIMITS
from bayesvb.variational.descriptions import NamedParameter, ParameterText
from bayesvb.variational.local import Draws
from bayesvb.variational.model import AnyModel


@dataclass(frozen=True)
class NamedDraws:
    """Draws by name in the data's units, with the names and labels of their axes.

    Attributes
    ----------
    values : dict of str to ndarray, shape (draws, ...)
    dims : dict of str to list of str
        Names of the axes after the draws; an axis of components has a name that begins so.
    coords : dict of str to list
        Labels along the named axes.
    parts : dict of str to str
        Name of the part in tables, for the draws that tables show.
    signed : frozenset of str
        Draws whose sign is of interest.
    texts : dict of str to ParameterText
        Meaning of the parameters in words, for the draws that tables show.
    single : dict of str to str
        Origin of a parameter without uncertainty: fixed, or a point estimate.
    """

    values: dict[str, DrawValues]
    dims: dict[str, list[str]]
    coords: dict[str, list[object]]
    parts: dict[str, str]
    signed: frozenset[str] = field(default_factory=frozenset)
    texts: dict[str, ParameterText] = field(default_factory=dict)
    single: dict[str, str] = field(default_factory=dict)

    @property
    def identified(self) -> bool:
        """Whether all parameters mean something one by one, as no other values predict alike."""
        return all(text.identified for text in self.texts.values())

    @classmethod
    def of(
        cls, parameters: Sequence[NamedParameter], coords: Mapping[str, Sequence[object]]
    ) -> NamedDraws:
        """Draws of these parameters, in this order, with the labels of the axes that they share."""
        own = {name: labels for one in parameters for name, labels in one.coords.items()}
        return cls(
            values={one.name: one.values for one in parameters},
            dims={one.name: list(one.dims) for one in parameters},
            coords={name: list(labels) for name, labels in {**coords, **own}.items()},
            parts={one.name: one.part for one in parameters if one.text},
            signed=frozenset(one.name for one in parameters if one.signed),
            texts={one.name: one.text for one in parameters if one.text},
            single={one.name: one.single for one in parameters if one.single},
        )


@runtime_checkable
class HasDraws(Protocol):
    """Source of draws by name: a fit, or draws from the prior."""

    @property
    def core(self) -> Any:
        """Model on the standardised scale."""

    @property
    def draws(self) -> Draws:
        """Draws of its parameters."""


@dataclass(frozen=True)
class ModelDraws:
    """Draws of all parameters of a model, from the prior or another distribution."""

    core: AnyModel
    draws: Draws


def chunks(core: AnyModel, source: AbstractSource, n_draws: int) -> Iterator[Block]:
    """Rows in order, in blocks small enough for arrays with draws and components."""
    n_rows = max(LIMITS.entries_in_memory // (n_draws * core.n_components), 1)
    for block in source.iterate():
        yield from block.split(n_rows)


def count(draws: Draws) -> int:
    """Number of draws."""
    return len(next(iter(draws.values())))


def log_lik_blocks(
    core: AnyModel, source: AbstractSource, draws: Draws, log_jacobian: float
) -> Iterator[DrawRows]:
    """Log likelihood of the rows in the data's units, block by block.

    Parameters
    ----------
    core : AbstractVariationalModel or Ensemble
    source : AbstractSource
    draws : Mapping of str to ndarray
    log_jacobian : float
        Log of the unit of the standardised density, which is subtracted from a row's log density.
    """
    for block in chunks(core, source, count(draws)):
        yield core.log_lik(draws, block) - log_jacobian


def log_joint(
    core: AnyModel, source: AbstractSource, draws: Draws, log_jacobian: float
) -> DrawVector:
    """Log likelihood of all rows plus log prior, latent variables integrated out."""
    total = core.log_prior(draws)
    blocks = chunks(core, source, count(draws))
    for block, values in zip(
        blocks, log_lik_blocks(core, source, draws, log_jacobian), strict=True
    ):
        total = total + (values.sum(axis=1) if block.weight is None else values @ block.weight)
    return np.asarray(total)


@dataclass(frozen=True)
class PosteriorDraws:
    """Draws of all parameters of a fit, on the standardised scale.

    Attributes
    ----------
    values : Mapping of str to ndarray, shape (draws, ...)
    log_density : ndarray, shape (draws,)
        Log density of the draws under the distribution that they are from; of the exact posterior
        the log joint density.
    covariance : {"linear-response", "mean-field", "importance", "exact", "robust", "engine"}
        Source of the draws; ``"engine"`` if the engine returned them.
    sampler : SamplerRecord or None
        Sampler of the exact posterior: of these draws, or one that did not reach it.
    """

    values: Draws
    log_density: DrawVector
    covariance: str
    sampler: SamplerRecord | None = None

    @classmethod
    def from_posterior(cls, core: AnyModel, posterior: object, values: Draws) -> PosteriorDraws:
        """Draws from the variational posterior of a model, whose factors are independent."""
        return cls(values, core.log_posterior(posterior, values), "mean-field")
