"""Several posteriors of one data set, each with its share of the draws: what stacking makes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from jaxtyping import Float, Int

from bayesvb.data.blocks import Block
from bayesvb.data.scaling import Scaling
from bayesvb.distributions.base import AbstractComponentMixture
from bayesvb.models.component_model import ClassModel
from bayesvb.numerics.arrays import (
    DrawExpertRows,
    DrawExpertTerms,
    DrawResponseRows,
    DrawRows,
    DrawTerms,
    DrawValues,
    DrawVector,
    ExpertRows,
)
from bayesvb.variational.local import Draws
from bayesvb.variational.model import AbstractVariationalModel, Starts

MEMBER = "member"
"""Name of the draws that contain the member of each draw, counted from 0."""

NO_COMMON_MEANING = (
    "no common table, because each restart orders its stick-breaking decisions differently"
)
"""Meaning of the coefficients of gates whose sticks have different orders."""

Evaluate = Callable[[Any, Draws], DrawValues]


@AbstractVariationalModel.register  # as the core of a fit: no engine runs an ensemble
@dataclass(frozen=True)
class Ensemble:
    """Models that were fitted one by one, as one model of which predictions and draws are made.

    Each draw belongs to one member, which evaluates it. Components of the members go by the same
    labels.

    Attributes
    ----------
    members : tuple of AbstractVariationalModel
        Models on the standardised scale, alike up to labelling and prior.
    weights : ndarray, shape (members,)
        Positive, with sum one.

    References
    ----------
    Yao, Vehtari, Gelman (2022), Stacking for non-mixing Bayesian computations, JMLR 23(79).
    """

    members: tuple[Any, ...]
    weights: Float[np.ndarray, " members"]

    @property
    def n_components(self) -> int:
        """Number of components of each member."""
        return int(self.members[0].n_components)

    def starts(self, n: int) -> Starts:
        """Starts of the first member."""
        return cast(Starts, self.members[0].starts(n))

    def coefficient_meaning(self) -> str:
        """Meaning of the gate's coefficients, or that the members differ in it."""
        meanings = self._coefficient_meanings
        return meanings[0] if len(meanings) == 1 else NO_COMMON_MEANING

    @property
    def _coefficient_meanings(self) -> list[str]:
        """Meanings of the coefficients of each gate, each meaning once."""
        return list(dict.fromkeys(str(core.coefficient_meaning()) for core in self.members))

    def update(self, stats: Sequence[object]) -> tuple[object, ...]:
        """Posterior of every member."""
        return tuple(core.update(sums) for core, sums in zip(self.members, stats, strict=True))

    def log_lik(self, draws: Draws, block: Block) -> DrawRows:
        """Log likelihood of each row for each draw."""
        return np.asarray(self._evaluated(draws, lambda core, own: core.log_lik(own, block)))

    def log_prior(self, draws: Draws) -> DrawVector:
        """Log density of each draw under the prior of its member."""
        return np.asarray(self._evaluated(draws, lambda core, own: core.log_prior(own)))

    def log_weights(self, draws: Draws, block: Block) -> DrawExpertRows:
        """Log weights of the components."""
        return np.asarray(self._evaluated(draws, lambda core, own: core.log_weights(own, block)))

    def drawn(
        self, draws: Draws, weights: DrawExpertTerms, block: Block, response: int, scaling: Scaling
    ) -> object:
        """Mixture of one response given each draw, of members whose experts complete the draws."""
        places, result = [], []
        for at, core, part in self._divided(draws):
            places.append(at)
            result.append(core.drawn(part, weights[at], block, response, scaling))
        order = np.argsort(np.concatenate(places))
        each = {
            name: np.concatenate([vars(one)[name] for one in result], axis=1)[:, order]
            for name in vars(result[0])
        }
        return replace(result[0], **each)

    def common_given(self, draws: Draws) -> Float[np.ndarray, "draws columns"]:
        """Expected common coefficients given the parameters of each draw, by its member."""
        return np.asarray(self._evaluated(draws, lambda core, own: core.common_given(own)))

    def gate_coefficients(self, draws: Draws) -> dict[int, DrawTerms]:
        """Coefficients of the gate by component, where every member has them in one meaning.

        A mean of log odds over members that break their sticks in different orders is of no odds,
        and in another order the logits would not be linear in the terms.
        """
        if len(self._coefficient_meanings) > 1:
            return {}
        parts = [(at, core.gate_coefficients(part)) for at, core, part in self._divided(draws)]
        common = set.intersection(*(set(coefficients) for _, coefficients in parts))
        whole = {}
        for k in sorted(common):
            whole[k] = np.empty((len(draws[MEMBER]), parts[0][1][k].shape[1]))
            for at, coefficients in parts:
                whole[k][at] = coefficients[k]
        return whole

    def responses(self, draws: Draws, block: Block, rng: np.random.Generator) -> DrawResponseRows:
        """One response per draw and row."""
        return np.asarray(self._evaluated(draws, lambda core, own: core.responses(own, block, rng)))

    def responsibilities(self, posterior: Sequence[object], block: Block) -> ExpertRows:
        """Probability of each component given the row's response, averaged by weight."""
        each = zip(self.members, posterior, strict=True)
        responsibilities = np.stack([core.responsibilities(q, block) for core, q in each])
        return np.asarray(np.tensordot(self.weights, responsibilities, 1))

    def drawn_responsibilities(self, draws: Draws, block: Block) -> DrawExpertRows:
        """Probability of each component given each draw and the row's response."""
        return np.asarray(
            self._evaluated(draws, lambda core, own: core.drawn_responsibilities(own, block))
        )

    def predictive(
        self, posterior: Sequence[object], block: Block, response: int = 0
    ) -> AbstractComponentMixture:
        """Mixture of the members' mixtures: components of the first member, then of the next."""
        each = zip(self.members, posterior, strict=True)
        predictive: list[AbstractComponentMixture] = [
            core.predictive(q, block, response) for core, q in each
        ]
        return predictive[0].stacked(predictive[1:], self.weights)

    def within(self, nats: float) -> Ensemble:
        """The ensemble of members within this tolerance."""
        return replace(self, members=tuple(core.within(nats) for core in self.members))

    def probabilities(
        self, posterior: Sequence[object], block: Block
    ) -> Float[np.ndarray, "classes rows"]:
        """Predictive probabilities of classes, averaged by weight."""
        each = zip(self.weights, self.members, posterior, strict=True)
        return np.asarray(sum(w * core.probabilities(q, block) for w, core, q in each))

    def drawn_probabilities(
        self, draws: Draws, block: Block, few_points: bool = False
    ) -> Float[np.ndarray, "draws classes rows"]:
        """Probabilities of classes for each draw."""

        def evaluate(core: ClassModel, own: Draws) -> Float[np.ndarray, "draws classes rows"]:
            return np.asarray(core.drawn_probabilities(own, block, few_points))

        return np.asarray(self._evaluated(draws, evaluate))

    def mean_weights(self, posterior: Sequence[object], block: Block) -> ExpertRows:
        """Expected weights of the components, averaged by weight."""
        each = zip(self.members, posterior, strict=True)
        weights = [core.mean_weights(q, block) for core, q in each]
        return np.asarray(sum(w * one for w, one in zip(self.weights, weights, strict=True)))

    def _evaluated(self, draws: Draws, function: Evaluate) -> object:
        whole = None
        for at, core, part in self._divided(draws):
            values = function(core, part)
            if whole is None:
                whole = np.empty((len(draws[MEMBER]), *values.shape[1:]))
            whole[at] = values
        return whole

    def _divided(self, draws: Draws) -> Iterator[tuple[np.ndarray, Any, Draws]]:
        """Positions of each member's draws, the member, and the draws."""
        for number, core in enumerate(self.members):
            at = np.flatnonzero(draws[MEMBER] == number)
            if len(at):
                part = {name: values[at] for name, values in draws.items() if name != MEMBER}
                yield at, core, part


def joined(
    draws: Sequence[Mapping[str, np.ndarray]], counts: Sequence[int], rng: np.random.Generator
) -> tuple[Draws, Int[np.ndarray, " draws"]]:
    """Draws of every member by count, in random order, with their original positions."""
    member = np.repeat(np.arange(len(counts)), counts)
    order = rng.permutation(len(member))
    names = draws[0].keys()
    whole = {
        name: np.concatenate([part[name][:n] for part, n in zip(draws, counts, strict=True)])[order]
        for name in names
    }
    return whole | {MEMBER: member[order].astype(float)}, order


def thinned(draws: Mapping[str, np.ndarray], n: int) -> Draws:
    """Thinned draws, with each member's proportion unchanged; in order."""
    total = len(next(iter(draws.values())))
    by_member = np.argsort(draws.get(MEMBER, np.zeros(total)), kind="stable")
    chosen = np.sort(by_member[np.arange(n) * total // n])
    return {name: values[chosen] for name, values in draws.items()}


def matching(
    reference: Float[np.ndarray, "rows experts"], other: Float[np.ndarray, "rows experts"]
) -> tuple[int, ...]:
    """Order in which the other's components share the most rows with the reference's."""
    return best_order(reference.T @ other)


def best_order(alike: Float[np.ndarray, "experts others"]) -> tuple[int, ...]:
    """The other for each, no two the same, whose sum is largest.

    Examples
    --------
    >>> best_order(np.array([[1.0, 2.0], [0.0, 5.0]]))
    (0, 1)
    """
    from scipy.optimize import linear_sum_assignment

    _, order = linear_sum_assignment(alike, maximize=True)
    return tuple(order.tolist())
