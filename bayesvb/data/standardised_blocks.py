"""Rows of a design as standardised blocks, and the scales that standardise them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Float

from bayesvb.data.blocks import Block
from bayesvb.data.scaling import Scaling
from bayesvb.numerics.arrays import RowColumns, RowVector

OBSERVED = "observed"
"""Design of a block that marks the variables with values."""


@dataclass(frozen=True)
class Scales:
    """Standardisation of every part and of the responses.

    Attributes
    ----------
    parts : mapping of str to Scaling
    response : Scaling
    rows : float
        Rows that they were learned from, by case weight; zero where nothing asks for it.
    offset_in_predictor : bool
        Whether an offset belongs to the linear predictor, and is not subtracted from the response.
    known : mapping of str to tuple of int
        Columns of parts that are offsets, whose coefficient is one.
    """

    parts: Mapping[str, Scaling]
    response: Scaling
    rows: float = 0.0
    offset_in_predictor: bool = False
    known: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def shift(self, offset: RowVector | None) -> RowVector | None:
        """Offset that is a summand of the response itself, if it has one."""
        return None if self.offset_in_predictor else offset

    @property
    def numbers(self) -> dict[str, Float[np.ndarray, "_ _"]]:
        """Centres, scales and bases of the parts, and of the response."""
        every = {**self.parts, "response": self.response}
        return {name: one.numbers for name, one in every.items()}

    @property
    def combines(self) -> bool:
        """Whether columns of a part are combined into the model's columns."""
        return any(one.basis is not None for one in self.parts.values())

    @property
    def basis_words(self) -> str:
        """Further transformation of the columns, after a comma; empty if there is none."""
        if not self.combines:
            return ""
        return (
            ", columns of products, powers and factors orthogonal to each other and to the terms "
            "that they contain"
        )

    @property
    def each_column(self) -> dict[str, Float[np.ndarray, "2 _"]]:
        """Centres and scales of the parts, and of the response."""
        return {name: one[:2] for name, one in self.numbers.items()}

    def with_numbers(self, numbers: Mapping[str, Float[np.ndarray, "_ _"]]) -> Scales:
        """Scalings of the same parts, and the response, with other centres, scales, and bases.

        Raises
        ------
        ValueError
            If the columns are not as many.
        """
        parts = {name: one.with_numbers(numbers[name]) for name, one in self.parts.items()}
        return replace(self, parts=parts, response=self.response.with_numbers(numbers["response"]))

    def block(
        self,
        matrices: Mapping[str, RowColumns],
        response: Float[np.ndarray, "rows responses"] | None = None,
        weight: RowVector | None = None,
        offset: RowVector | None = None,
    ) -> Block:
        """Standardised rows, less an offset of the response; zeros where no response is known."""
        designs = {name: self.parts[name].rows_last(m) for name, m in matrices.items()}
        if response is None:
            n_rows = next(iter(designs.values())).shape[1]
            standard = np.zeros((len(self.response.centre), n_rows))
        else:
            standard = self.response.rows_last(without_offset(response, self.shift(offset)))
        return Block(designs, standard, weight, offset)


def without_offset(
    response: Float[np.ndarray, "rows responses"], offset: RowVector | None
) -> Float[np.ndarray, "rows responses"]:
    """Responses less a known offset."""
    return response if offset is None else response - offset[:, None]


def variables_block(
    scaling: Scaling, matrix: Float[np.ndarray, "rows dims"], weight: RowVector | None = None
) -> Block:
    """Standardised variables of some rows, without a response."""
    return Block({"variables": scaling.rows_last(matrix)}, np.empty((0, len(matrix))), weight)


def gapped_block(
    scaling: Scaling,
    matrix: Float[np.ndarray, "rows dims"],
    weight: RowVector | None = None,
    *,
    gapped: bool,
) -> Block:
    """Scaled variables, zeros for missing entries; if ``gapped``, ``observed`` marks the others."""
    standard = scaling.rows_last(matrix)
    if not gapped:
        return Block({"variables": standard}, np.empty((0, len(matrix))), weight)
    seen = ~np.isnan(standard)
    designs = {"variables": np.where(seen, standard, 0.0), OBSERVED: seen.astype(float)}
    return Block(designs, np.empty((0, len(matrix))), weight)
