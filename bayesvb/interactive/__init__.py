"""The workbench: a page on which a formula is typed, and the picture of the fit follows it.

The folder has not the name of its function ``bayesvb.workbench``, which a module would hide. Only
``cli`` and the face of the package import it, when they are asked for a page. Only ``page``,
``document``, ``server`` and ``panes`` import Shiny, which the extra ``bayesvb[workbench]`` brings.

May import: errors, argument_checks, numerics, storage, data, formula, distributions, datasets,
evaluation, gates, experts, results, effects, reports, estimators.
"""
