"""The workbench: a page on which a formula is typed, and the picture of the fit follows it.

The folder does not have the name of its function ``bayesvb.workbench``, which a module would hide.
Only ``cli`` and the top level of the package import it, when a page is requested. Only ``page``,
``document``, ``server`` and ``panes`` import Shiny, which the extra ``bayesvb[workbench]``
installs.

May import: errors, argument_checks, numerics, storage, data, formula, distributions, datasets,
evaluation, gates, experts, results, effects, reports, estimators.
"""
