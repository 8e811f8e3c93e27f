"""Student-t linear experts of responses that are censored, rounded or otherwise in intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayesvb.data.blocks import Block
from bayesvb.experts.drawn_lines import drawn_lines
from bayesvb.experts.intervals import AbstractIntervalExperts, HiddenRows
from bayesvb.experts.linear_student import StudentExperts
from bayesvb.experts.linear_student_posterior import StudentPosterior, StudentStats
from bayesvb.linear.designs import AbstractDesign
from bayesvb.numerics.arrays import DrawExpertRows, ExpertRows
from bayesvb.numerics.truncated_laws import truncated_student
from bayesvb.variational.local import AbstractLocalPosterior, Draws


@dataclass(frozen=True)
class IntervalStudentLocalPosterior(AbstractLocalPosterior):
    """Expected log likelihood of these rows, and expectations of their precision and response.

    Attributes
    ----------
    expected_log_density, scale, line, square, tail : ndarray, shape (experts, rows)
        ``E u``, ``E u y``, ``E u y^2`` and ``E log u - E u`` given the expert.
    design : AbstractDesign
    """

    expected_log_density: ExpertRows
    scale: ExpertRows
    line: ExpertRows
    square: ExpertRows
    tail: ExpertRows
    design: AbstractDesign

    def sufficient_stats(self, responsibilities: ExpertRows) -> StudentStats:
        design, each = self.design, responsibilities[:, None]
        return StudentStats(
            weight=responsibilities.sum(axis=1),
            xx=design.gram(each * self.scale[:, None]),
            xy=design.cross(each * self.line[:, None]),
            yy=(each * self.square[:, None]).sum(axis=2),
            tail=(each * self.tail[:, None]).sum(axis=2),
        )

    def row_stats(self, responsibilities: ExpertRows) -> StudentStats:
        design, each = self.design, responsibilities[:, None]
        return StudentStats(
            weight=responsibilities.T,
            xx=design.gram_by_row(each * self.scale[:, None]),
            xy=design.cross_by_row(each * self.line[:, None]),
            yy=np.moveaxis(each * self.square[:, None], -1, 0),
            tail=np.moveaxis(each * self.tail[:, None], -1, 0),
        )


@dataclass(frozen=True)
class IntervalStudentExperts(
    AbstractIntervalExperts[StudentPosterior, StudentStats], StudentExperts
):
    r"""``y ~ t_nu(x' B_k, 1 / sqrt(tau_k))``, where rows say only ``l < y <= h``.

    Given the component, the response and the precision of such a row have a joint posterior at
    their optimum whose marginal is a Student t cut to the interval; see ``truncated_student``. All
    expectations are closed forms, and the bound never falls.
    """

    log_unit: float = 0.0

    def local(self, posterior: StudentPosterior, block: Block) -> IntervalStudentLocalPosterior:  # type: ignore[override]
        """Expected log likelihood, with response and precision of every row at their optimum."""
        seen, rows = StudentExperts.local(self, posterior, block), HiddenRows.of_block(block)
        terms = seen.expected_log_density - self.log_unit
        scale, tail = seen.scale[:, 0].copy(), seen.tail[:, 0].copy()
        line = scale * block.response
        square = line * block.response
        if len(rows.at):
            linear, dof, design = posterior.linear, posterior.dof, seen.design.take(rows.at)
            precision = linear.expected_precision
            root, location = np.sqrt(precision), design.predict(linear.mean[:, 0])
            lower, upper = (root * (end - location) for end in (rows.lower, rows.upper))
            spread = linear.spread_at(design)
            law = truncated_student(lower, upper, spread, dof)
            constant = 0.5 * (linear.expected_log_precision - np.log(precision))
            terms[:, rows.at] = constant + law.log_mass
            scale[:, rows.at], tail[:, rows.at] = law.weight, law.log_weight - law.weight
            pull = law.pull / root
            far = (dof + 1.0 - (dof + spread) * law.weight) / precision
            line[:, rows.at] = location * law.weight + pull
            square[:, rows.at] = location * (location * law.weight + 2.0 * pull) + far
        return IntervalStudentLocalPosterior(terms, scale, line, square, tail, seen.design)

    def log_lik(self, draws: Draws, block: Block) -> DrawExpertRows:
        """Log density of rows that are seen, log probability of intervals, given each draw."""
        total, rows = StudentExperts.log_lik(self, draws, block), HiddenRows.of_block(block)
        total -= self.log_unit
        if len(rows.at):
            line = drawn_lines(self.design(block.take(rows.at)), draws, 0)
            root = np.sqrt(draws["precision"])
            lower, upper = (root * (end - line) for end in (rows.lower, rows.upper))
            law = truncated_student(lower, upper, np.zeros_like(line), draws["dof"])
            total[:, :, rows.at] = law.log_mass
        return total
