"""The space of all parameters of a model: named draws, and unconstrained vectors for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bayesvb.numerics.array_library import namespace
from bayesvb.numerics.arrays import DrawParameters, DrawVector
from bayesvb.variational.local import Draws
from bayesvb.variational.supports import AbstractSupport


@dataclass(frozen=True)
class ParameterSpace:
    """Supports of all parameters by name: how draws of a model are unconstrained vectors.

    Attributes
    ----------
    supports : Mapping of str to AbstractSupport
        In the order in which the vectors hold them.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesvb.variational.supports import Positive, Real
    >>> space = ParameterSpace({"mean": Real((2,)), "precision": Positive(())})
    >>> draws, log_volume = space.draws(np.array([[1.0, 2.0, 0.0]]))
    >>> draws["mean"], draws["precision"], log_volume
    (array([[1., 2.]]), array([1.]), array([0.]))
    """

    supports: Mapping[str, AbstractSupport]

    @property
    def size(self) -> int:
        """Length of the vectors."""
        return sum(support.size for support in self.supports.values())

    def draws(self, vectors: DrawParameters) -> tuple[Draws, DrawVector]:
        """Draws that vectors stand for, and the log volume of the map from vectors to draws.

        Arrays of NumPy or of JAX.
        """
        draws, first = {}, 0
        volume: DrawVector = namespace(vectors).zeros(len(vectors))
        for name, support in self.supports.items():
            part = vectors[:, first : first + support.size]
            draws[name], added = support.constrained(part)
            volume, first = volume + added, first + support.size
        return draws, volume

    def vectors(self, draws: Draws) -> DrawParameters:
        """Vectors that stand for these draws."""
        each = [support.free(draws[name]) for name, support in self.supports.items()]
        vectors: DrawParameters = namespace(each[0]).concatenate(each, axis=1)
        return vectors
