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
    from bayesvb.data.column_kinds import column_kinds as column_kinds
    from bayesvb.data.overview_table import describe as describe
    from bayesvb.estimators.density_regression import DensityRegression as DensityRegression
    from bayesvb.estimators.fit import Fit as Fit
    from bayesvb.estimators.gaussian_mixture import GaussianMixture as GaussianMixture
    from bayesvb.estimators.loading import load as load
    from bayesvb.estimators.network import ConditionalMixtureNetwork as ConditionalMixtureNetwork
    from bayesvb.estimators.normal import Normal as Normal
    from bayesvb.estimators.pca import BayesianPCA as BayesianPCA
    from bayesvb.estimators.priors import GaussianPriors as GaussianPriors
    from bayesvb.estimators.priors import NetworkPriors as NetworkPriors
    from bayesvb.estimators.priors import NormalPriors as NormalPriors
    from bayesvb.estimators.priors import PcaPriors as PcaPriors
    from bayesvb.estimators.priors import Priors as Priors
    from bayesvb.estimators.sites.rounds import fit_from_sites as fit_from_sites
    from bayesvb.estimators.sites.rounds import merge_site_statistics as merge_site_statistics
    from bayesvb.estimators.sites.rounds import site_statistics as site_statistics
    from bayesvb.interactive.server import workbench as workbench
    from bayesvb.model_selection.automatic import fit as fit
    from bayesvb.model_selection.pruning import prune as prune
    from bayesvb.model_selection.selection import select as select
    from bayesvb.numerics.versions import show_versions as show_versions
    from bayesvb.reports import report as report
    from bayesvb.reports.fragments import report_section as report_section
    from bayesvb.results.comparison import compare as compare
    from bayesvb.studies.benchmark import benchmark as benchmark
    from bayesvb.studies.cross_validation import cross_validate as cross_validate
    from bayesvb.studies.sbc import sbc as sbc

# Public name -> the module that holds it. Each is imported when first asked for, so that
# `import bayesvb` does not pay for the formula package, ArviZ or matplotlib.
_HOMES = {
    "BayesianPCA": "bayesvb.estimators.pca",
    "ConditionalMixtureNetwork": "bayesvb.estimators.network",
    "DensityRegression": "bayesvb.estimators.density_regression",
    "Fit": "bayesvb.estimators.fit",
    "GaussianMixture": "bayesvb.estimators.gaussian_mixture",
    "GaussianPriors": "bayesvb.estimators.priors",
    "NetworkPriors": "bayesvb.estimators.priors",
    "Normal": "bayesvb.estimators.normal",
    "NormalPriors": "bayesvb.estimators.priors",
    "PcaPriors": "bayesvb.estimators.priors",
    "Priors": "bayesvb.estimators.priors",
    "benchmark": "bayesvb.studies.benchmark",
    "column_kinds": "bayesvb.data.column_kinds",
    "compare": "bayesvb.results.comparison",
    "cross_validate": "bayesvb.studies.cross_validation",
    "datasets": "bayesvb.datasets",
    "describe": "bayesvb.data.overview_table",
    "effects": "bayesvb.effects",
    "fit": "bayesvb.model_selection.automatic",
    "fit_from_sites": "bayesvb.estimators.sites.rounds",
    "load": "bayesvb.estimators.loading",
    "merge_site_statistics": "bayesvb.estimators.sites.rounds",
    "plots": "bayesvb.plots",
    "prune": "bayesvb.model_selection.pruning",
    "report": "bayesvb.reports",
    "report_section": "bayesvb.reports.fragments",
    "sbc": "bayesvb.studies.sbc",
    "select": "bayesvb.model_selection.selection",
    "show_versions": "bayesvb.numerics.versions",
    "site_statistics": "bayesvb.estimators.sites.rounds",
    "workbench": "bayesvb.interactive.server",
}

# Not among them: it needs scikit-learn, and is imported only when it is asked for by name.
_OPTIONAL = {"sklearn": "bayesvb.sklearn"}

# Former name -> present name; goes with version 0.5.
_RENAMED = {
    "calibrate": "sbc",
    "fit_of_sites": "fit_from_sites",
    "merge": "merge_site_statistics",
}

__all__ = [*_HOMES, "__version__"]


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("bayesvb")
    if name in _RENAMED:
        from bayesvb.errors import warn_renamed

        warn_renamed(f"bayesvb.{name}", f"bayesvb.{_RENAMED[name]}")
        name = _RENAMED[name]
    homes = _HOMES | _OPTIONAL
    if name not in homes:
        from bayesvb.results.other_names import meant

        instead = None if name.startswith("_") else meant(name, ())
        hint = f"\nhint: write {instead}" if instead else ""
        raise AttributeError(f"module 'bayesvb' has no attribute {name!r}{hint}")
    home = importlib.import_module(homes[name])
    return home if home.__name__ == f"bayesvb.{name}" else getattr(home, name)


def __dir__() -> list[str]:
    """Public names only, for completion."""
    return sorted({*__all__, *_OPTIONAL, *(name for name in globals() if name.startswith("__"))})
