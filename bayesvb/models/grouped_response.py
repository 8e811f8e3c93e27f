"""Linear response of mixtures with effects of very many groups: the groups are eliminated.

The second derivative of the ELBO is an arrow: effects of different groups are coupled only through
statistics that all rows share. With ``V`` the covariance of the shared statistics, ``R_g`` a
group's conditional covariance given these, and ``H`` the second derivatives of the ELBO, the
sensitivity of the shared statistics to a change ``V u`` of their expectations is determined, for
any number of groups and at the cost of a small system for each, by ``H_bb + sum_g H_bg (R_g^-1 -
H_gg)^-1 H_gb``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from scipy.linalg import block_diag

from bayesvb.data.blocks import Block
from bayesvb.data.sources import AbstractSource
from bayesvb.data.statistics import SufficientStats
from bayesvb.factors.gamma import Gamma
from bayesvb.factors.normal import Normal
from bayesvb.gates.base import AnyGate
from bayesvb.linear.arrow_precisions import ArrowPrecision
from bayesvb.models.logit_elimination import LogitElimination
from bayesvb.models.mixed_elimination import MixedElimination
from bayesvb.models.solved_groups import (
    ConvexGroup,
    Coupling,
    EffectCoupling,
    GroupScalars,
    Piece,
    SolvedGroups,
    groups_of,
    joined_roots,
    pieces_of,
)
from bayesvb.models.term_scales import ScaleCoordinates, TermScales
from bayesvb.numerics.arrays import DirectionEntries, EntryVector
from bayesvb.numerics.pieces import IN_MEMORY, pieces
from bayesvb.variational.row_derivatives import consecutive, mixture_hessian
from bayesvb.variational.shared_response import FLATTEST, AbstractSharedResponse, BendsUpwards

MOST_SHARED = 600
"""Statistics that all rows share up to which their whole covariance is made."""

MOST_BESIDE = 2000
"""Number of shared statistics, products of other columns, up to which groups are
eliminated; differences of passes take no longer with as many, and grow more slowly."""


@dataclass(frozen=True, eq=False)
class GroupedResponse(AbstractSharedResponse):
    """Derivatives of expectations and of a pass in the statistics that all rows share.

    These are, in order, the statistics of the experts' coefficients and noise, of the gate, and of
    learned prior precisions.

    Attributes
    ----------
    model : Mixture
    posterior : MixturePosterior
    source : AbstractSource
    experts : MixedElimination
        How effects of groups follow the experts' coefficients.
    gate : AbstractGate
        With the prior that it has now.
    gate_stats : SufficientStats
    scales : Gamma
        Posterior of the precisions.
    logits : LogitElimination or None
        How effects of groups on the weights follow the other coefficients; None without such.
    shared : tuple of Coupling
        Squares of coefficients that precisions are multiplied by.
    effects : tuple of EffectCoupling
        Effects whose squares precisions are multiplied by.
    """

    model: Any
    posterior: Any
    source: AbstractSource
    experts: MixedElimination
    gate: Any
    gate_stats: Any
    scales: Gamma
    logits: LogitElimination | None
    shared: tuple[Coupling, ...]
    effects: tuple[EffectCoupling, ...]

    passes = 1

    @classmethod
    def of(
        cls,
        mixture: tuple[object, Any, AbstractSource],
        gate: tuple[AnyGate, SufficientStats],
        scales: Gamma,
        parts: tuple[TermScales, ...],
    ) -> GroupedResponse:
        """Response of a model, its posterior, rows, gate with statistics, and learned scales."""
        model, posterior, source = mixture
        experts = MixedElimination(posterior.experts)
        first = expert_entries(experts).size, experts.n_statistics
        complete = gate[0].draws_complete
        logits = None if complete else LogitElimination(posterior.gate, *first)
        response = cls(model, posterior, source, experts, *gate, scales, logits, (), ())
        if not parts:
            return response
        shared, effects = _couplings(response, *parts)
        return replace(response, shared=tuple(shared), effects=tuple(effects))

    def if_few(self) -> GroupedResponse | None:
        """Itself, unless rows share more statistics than the elimination of groups allows."""
        few = self.entries.size + self.n_gate + len(self.scales.rate) <= MOST_BESIDE
        return self if few else None

    @property
    def n_gate(self) -> int:
        """Number of statistics of the gate that all rows share."""
        return int(self.logits.entries.size if self.logits else self.gate_stats.to_vector().size)

    @cached_property
    def entries(self) -> Int[np.ndarray, "experts entries"]:
        """Places of the statistics of each expert."""
        return expert_entries(self.experts)

    @cached_property
    def covariance(self) -> Float[np.ndarray, "entries entries"]:
        """Covariance of all statistics that rows share, under the posterior."""
        experts = np.zeros((self.entries.size, self.entries.size))
        for at, one in zip(self.entries, self.experts.border_covariance(), strict=True):
            experts[np.ix_(at, at)] = one
        precisions = np.diag(0.25 * self.scales.shape / self.scales.rate**2)
        law = self._gate_law  # None of a gate without parameters
        gate = np.empty((0, 0)) if law is None else law.statistics_covariance()
        return np.asarray(block_diag(experts, gate, precisions))

    @property
    def _gate_law(self) -> Any:
        """Posterior of the gate's shared statistics, group effects integrated out."""
        return self.posterior.gate if self.logits is None else self.logits.posterior.shared

    def perturbations(self) -> DirectionEntries:
        gate = self.gate.coordinates(self._gate_law).perturbations()
        of_scales = np.diag(ScaleCoordinates(self.scales).tilts())
        return np.asarray(block_diag(self.experts.border.perturbations(), gate, of_scales))

    def metric(self, directions: DirectionEntries) -> DirectionEntries:
        return np.asarray(directions @ self.covariance)

    def answers(self, directions: DirectionEntries, metric: DirectionEntries) -> DirectionEntries:
        """Changes of the statistics one pass on, effects of groups having settled.

        Raises
        ------
        BendsUpwards
            That is so in the effects of a group.
        """
        return self.curved(metric)

    def curved(self, change: DirectionEntries) -> DirectionEntries:
        """Changes of the statistics with changes of the expectations, effects at their optimum."""
        product = np.zeros_like(change)
        for one in self.shared:
            product[:, one.scale] -= 2.0 * change[:, one.entry]
            product[:, one.entry] -= 2.0 * change[:, one.scale]
        for piece in self._pieces:
            solved = self._solved(piece)
            for some in pieces(len(change), solved.hessian[0].size, IN_MEMORY):
                solved.add_answers(change[some], product[some])
        for effect in self.effects:
            for entries, row in zip(effect.entries, effect.features.sum(axis=2), strict=True):
                product[:, effect.scale] -= 2.0 * change[:, entries] @ row
                product[:, entries] -= 2.0 * change[:, effect.scale, None] * row
        return product

    def _solved(self, piece: Piece) -> SolvedGroups:
        """The systems of the groups of a piece."""
        block, groups = piece.block, slice(piece.first, piece.stop)
        weight = np.ones(block.n_rows) if block.weight is None else block.weight
        parts = [self.experts.group_roots(groups)]
        if self.logits is not None:
            parts.append(self.logits.without_noise.group_roots(groups))
        place = groups_of(block).place - piece.first
        scalars, hessian = self._row_derivatives(block)
        try:
            return SolvedGroups.of(
                scalars, self.effects, hessian * weight, place, joined_roots(parts)
            )
        except ConvexGroup as error:
            raise BendsUpwards(self._of_group(piece.first + error.group, error.way)) from error

    def effect_variances(
        self, weights: Float[np.ndarray, " effects"]
    ) -> Float[np.ndarray, "experts responses groups"] | None:
        """Variances of a combination of the effects of each group, times ``sqrt(tau)``.

        None if the shared statistics are too many for one matrix. The sum of a group's own part,
        and the part that follows the shared statistics.
        """
        shared = self._shared_response
        if shared is None:
            return None
        n_experts, n_responses, _, _ = self.experts.shape
        variances = np.empty((n_experts, n_responses, self.experts.n_groups))
        some = np.flatnonzero(weights).tolist()
        for piece in self._pieces:
            solved, groups = self._solved(piece), slice(piece.first, piece.stop)
            for k, i in np.ndindex(variances.shape[:2]):
                at = [self._place_of_effect(k, i, effect) for effect in some]
                each = [weights[e] * self._lean(solved, groups, (k, i, e)) for e in some]
                lean = sum(each[1:], each[0])
                within = solved.inverse[:, at][:, :, at]
                alone = np.einsum("a,gab,b->g", weights[some], within, weights[some])
                variances[k, i, groups] = alone + ((lean @ shared) * lean).sum(axis=1)
        return np.asarray(variances / self.experts.noise_precision[:, :, None])

    def law_of_logits(self) -> Normal | None:
        """Linear response of coefficients of all logits and effects on these, as one vector.

        None without such effects, and as in ``effect_variances``.
        """
        shared = self._shared_response
        if shared is None or self.logits is None:
            return None
        (n_logits, n_terms, n_effects), law = self.logits.shape, self.logits.posterior
        means = self.logits.without_noise.operator.split(law.mean)
        each = list(np.ndindex(n_logits, n_effects))
        at = [self.logits.place_of_effect(*one) for one in each]
        border = self.logits.entries[:, -n_terms:].ravel()
        precision = np.linalg.inv(shared[np.ix_(border, border)])
        follows, within = [], []
        for piece in self._pieces:
            solved, groups = self._solved(piece), slice(piece.first, piece.stop)
            slopes = [self._lean_of_logit(solved, groups, *one) for one in each]
            leans = np.stack(slopes, axis=1)
            across = leans @ shared
            follows.append(across[..., border] @ precision)
            alone = solved.inverse[:, at][:, :, at] + across @ leans.swapaxes(1, 2)
            within.append(alone - follows[-1] @ across[..., border].swapaxes(1, 2))
        operator = ArrowPrecision.from_conditional(
            precision[None],
            -np.moveaxis(np.concatenate(follows), 0, -1)[None],
            np.moveaxis(np.concatenate(within), 0, -1)[None],
        )
        return Normal(np.concatenate([one.reshape(1, -1) for one in means], axis=1), operator)

    @cached_property
    def _shared_response(self) -> DirectionEntries | None:
        """Covariance of the shared statistics by linear response; None if it is too large."""
        if len(self.covariance) > MOST_SHARED:
            return None
        answers = self.curved(self.covariance)
        return np.asarray(np.linalg.solve(np.eye(len(answers)) - answers, self.covariance))

    def _place_of_effect(self, expert: int, response: int, effect: int) -> int:
        """Index of ``tau u`` among the statistics of a group under all experts."""
        n_own = int(self.experts.places.shape[1])
        return expert * n_own + self.experts.place_of_effect(response, effect)

    def _lean(
        self, solved: SolvedGroups, groups: slice, effect: tuple[int, ...]
    ) -> Float[np.ndarray, "groups entries"]:
        """Derivative of an effect of these groups in the statistics that all rows share."""
        expert, response, number = effect
        ways = solved.inverse[..., self._place_of_effect(expert, response, number)]
        lean = solved.shared_of(ways, len(self.covariance))
        leans = self.experts.effect_leans(expert, response, number)
        lean[:, self.entries[expert]] += leans[groups]
        return lean

    def _lean_of_logit(
        self, solved: SolvedGroups, groups: slice, logit: int, effect: int
    ) -> Float[np.ndarray, "groups entries"]:
        """Derivative of an effect on a logit in the statistics that all rows share."""
        assert self.logits is not None
        ways = solved.inverse[..., self.logits.place_of_effect(logit, effect)]
        lean = solved.shared_of(ways, len(self.covariance))
        lean[:, self.logits.entries[logit]] += self.logits.effect_leans(logit, effect)[groups]
        return lean

    def response(self) -> DirectionEntries:
        """Linear-response covariance of the expectations of the shared statistics.

        Raises
        ------
        BendsUpwards
            The bound is not concave.
        """
        variance = np.diagonal(self.covariance)
        sd = np.sqrt(
            np.where(variance > 0.0, variance, 1.0)
        )  # the weight of one component is known
        spread, basis = np.linalg.eigh(self.covariance / (sd[:, None] * sd))
        kept = spread > FLATTEST * spread[-1]
        turned = basis[:, kept] * np.sqrt(spread[kept])
        root = sd[:, None] * turned
        bend = root.T @ self.curved(np.eye(len(sd))) @ root
        values, axes = np.linalg.eigh(np.eye(len(bend)) - 0.5 * (bend + bend.T))
        if not values[0] > FLATTEST:
            way = basis[:, kept] @ (axes[:, 0] / np.sqrt(spread[kept])) / sd
            raise BendsUpwards(self.lifted(way))
        half = root @ axes / np.sqrt(values)
        return np.asarray(half @ half.T)

    @cached_property
    def _pieces(self) -> list[Piece]:
        """Groups, in pieces of about this number of rows."""
        return list(pieces_of(self.source.whole(), self.experts.n_groups))

    def _row_derivatives(
        self, block: Block
    ) -> tuple[tuple[GroupScalars, ...], Float[np.ndarray, "scalars scalars rows"]]:
        """Scalars of rows, and second derivatives of their weights and densities in these."""
        gate, posterior = self.gate, self.posterior.gate
        share = self.model.responsibilities(self.posterior, block)
        experts = GroupScalars(
            self.entries, *self.experts.features(block),
            np.arange(self.experts.n_statistics).reshape(len(self.entries), -1),
        )  # fmt: skip
        if self.logits is None:
            known = gate.row_derivatives(posterior, block, share)
            moved = (one.moved(self.entries.size) for one in known.scalars)
            without_groups = tuple(GroupScalars.without_groups(one) for one in moved)
            slopes, bends = known.slopes, known.bends
        else:
            without_groups = self.logits.scalars(block)
            slopes, bends = gate.logit_slopes(posterior, block, share)
        return (experts, *without_groups), mixture_hessian(share, slopes, bends)

    def lifted(self, direction: EntryVector) -> Float[np.ndarray, " whole"]:
        """A change of the shared statistics, as a change of all statistics: groups follow."""
        change = self.metric(direction[None])
        own = [self._solved(piece).followed(change) for piece in self._pieces]
        return self._whole(direction, np.concatenate(own, axis=-1))

    def _whole(
        self, direction: EntryVector, own: Float[np.ndarray, "all groups"]
    ) -> Float[np.ndarray, " whole"]:
        """A change of all statistics, of one of those that all rows share beyond groups' own."""
        shared, n_own = np.array(direction), self.experts.n_statistics
        of_experts = own[:n_own].reshape(*self.experts.places.shape, own.shape[1])
        shared[self.entries] -= self.experts.taken_over(of_experts, slice(None))
        parts = [*self.experts.statistics(shared[self.entries], of_experts)]
        n_shared, n_scales = self.entries.size, len(self.scales.rate)
        _, gate, scales = np.split(shared, [n_shared, len(shared) - n_scales])
        if self.logits is not None:
            law = self.logits.without_noise
            of_logits = own[n_own:].reshape(*law.places.shape, own.shape[1])
            change = shared[self.logits.entries] - self.logits.taken_over(of_logits)
            padded = np.pad(change, [(0, 0), (1, 1)])  # no count of rows, no noise
            parts += law.statistics(padded, of_logits)[1:3]
        else:
            parts.append(gate)
        return np.concatenate([*map(np.ravel, parts), np.zeros(n_scales), scales])

    def _of_group(self, group: int, way: Float[np.ndarray, " all"]) -> Float[np.ndarray, " whole"]:
        """A change of a group's statistics, as one of all statistics."""
        change = np.zeros((len(way), self.experts.n_groups))
        change[:, group] = way
        return self._whole(np.zeros(len(self.covariance)), change)


def expert_entries(experts: MixedElimination) -> Int[np.ndarray, "experts entries"]:
    """Places of the statistics of each expert among those that all rows share."""
    n_experts, n_responses, n_terms, _ = experts.shape
    n_pairs = n_terms * (n_terms + 1) // 2
    widths = [1, n_pairs, n_responses * n_terms, n_responses]
    return np.concatenate(consecutive(n_experts, widths), axis=1)


def _couplings(
    response: GroupedResponse, of_experts: TermScales, of_gate: TermScales
) -> tuple[list[Coupling], list[EffectCoupling]]:
    """Squares of coefficients, then of effects, that each precision is multiplied by."""
    experts, logits, entries = response.experts, response.logits, response.entries
    first, n_terms = entries.size + response.n_gate, experts.shape[2]
    shared, effects = [], []
    columns = np.arange(experts.n_statistics).reshape(len(entries), -1)
    for scale, term in np.argwhere(of_experts.membership > 0.0).tolist():
        if term >= n_terms:
            effect = term - n_terms
            squares = columns[:, experts.squares_of(effect)]
            features = experts.effect_features(effect)
            effects.append(EffectCoupling(first + scale, entries, features, squares))
        else:
            square = 1 + term * (term + 3) // 2
            shared += [Coupling(first + scale, int(one[square])) for one in entries]
    first += len(of_experts.start)
    n_logits, n_terms = response.posterior.gate.shared.mean.shape if len(of_gate.start) else (0, 0)
    n_pairs = n_terms * (n_terms + 1) // 2
    for scale, term in np.argwhere(of_gate.membership > 0.0).tolist():
        if logits is not None and term >= n_terms:
            effect = term - n_terms
            squares = logits.own[:, experts.squares_of(effect)]
            features = logits.effect_features(effect)
            effects.append(EffectCoupling(first + scale, logits.entries, features, squares))
        else:
            square = entries.size + term * (term + 3) // 2
            places = range(square, square + n_logits * n_pairs, n_pairs)
            shared += [Coupling(first + scale, place) for place in places]
    return shared, effects
