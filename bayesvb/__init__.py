"""Variational Bayes for conditional mixtures: formula and data frame in; fit and report out.

Examples
--------
>>> import bayesvb as bvb
>>> "DensityRegression" in dir(bvb)
True
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import bayesvb.datasets as datasets  # noqa: F401
    import bayesvb.effects as effects  # noqa: F401
    import bayesvb.plots as plots  # noqa: F401
    from bayesvb.comparison import compare as compare
    from bayesvb.fit import Fit as Fit
    from bayesvb.priors import GaussianPriors as GaussianPriors
    from bayesvb.priors import NetworkPriors as NetworkPriors
    from bayesvb.priors import NormalPriors as NormalPriors
    from bayesvb.priors import PcaPriors as PcaPriors
    from bayesvb.priors import Priors as Priors
    from bayesvb.pruning import prune as prune
    from bayesvb.reports import report as report
    from bayesvb.saving import load as load
    from bayesvb.selection import select as select
    from bayesvb.workbench import BayesianPCA as BayesianPCA
    from bayesvb.workbench import ConditionalMixtureNetwork as ConditionalMixtureNetwork
    from bayesvb.workbench import DensityRegression as DensityRegression
    from bayesvb.workbench import GaussianMixture as GaussianMixture
    from bayesvb.workbench import Normal as Normal

# Public name -> the module that holds it. Each is imported when first asked for, so that
# `import bayesvb` does not pay for the formula package, ArviZ or matplotlib.
_HOMES = {
    "BayesianPCA": "bayesvb.workbench",
    "ConditionalMixtureNetwork": "bayesvb.workbench",
    "DensityRegression": "bayesvb.workbench",
    "Fit": "bayesvb.fit",
    "GaussianMixture": "bayesvb.workbench",
    "GaussianPriors": "bayesvb.priors",
    "NetworkPriors": "bayesvb.priors",
    "Normal": "bayesvb.workbench",
    "NormalPriors": "bayesvb.priors",
    "PcaPriors": "bayesvb.priors",
    "Priors": "bayesvb.priors",
    "compare": "bayesvb.comparison",
    "datasets": "bayesvb.datasets",
    "effects": "bayesvb.effects",
    "load": "bayesvb.saving",
    "plots": "bayesvb.plots",
    "prune": "bayesvb.pruning",
    "report": "bayesvb.reports",
    "select": "bayesvb.selection",
}

__all__ = [*_HOMES, "__version__"]


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("bayesvb")
    if name not in _HOMES:
        raise AttributeError(f"module 'bayesvb' has no attribute {name!r}")
    home = importlib.import_module(_HOMES[name])
    return home if home.__name__ == f"bayesvb.{name}" else getattr(home, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
