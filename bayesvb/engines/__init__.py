"""Engines: algorithms that know models only through ``AbstractVariationalModel``.

May import: errors, streams, numerics, data, variational.
"""

from __future__ import annotations

from bayesvb.engines.base import AbstractEngine
from bayesvb.engines.cavi import Cavi
from bayesvb.engines.em import Em

ENGINES: dict[str, AbstractEngine] = {
    "cavi": Cavi(),
    "em": Em(),
}
"""Choices of ``method``."""

DEFAULT_METHOD = "cavi"
