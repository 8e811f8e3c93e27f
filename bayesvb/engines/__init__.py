"""Engines: algorithms that know models only through ``AbstractVariationalModel``.

May import: errors, argument_checks, numerics, data, variational, sensitivity.
"""

from __future__ import annotations

from bayesvb.engines.base import AbstractEngine
from bayesvb.engines.bbvi import Bbvi
from bayesvb.engines.cavi import Cavi
from bayesvb.engines.em import Em
from bayesvb.engines.nuts import Nuts
from bayesvb.engines.svi import Svi

ENGINES: dict[str, AbstractEngine] = {
    "cavi": Cavi(),
    "em": Em(),
    "bbvi": Bbvi(),
    "nuts": Nuts(),
    "svi": Svi(),
}
"""Choices of ``method``."""

DEFAULT_METHOD = "cavi"
