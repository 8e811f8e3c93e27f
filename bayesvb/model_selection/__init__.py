"""The number of components: chosen among candidates, or by pruning one fit.

May import: errors, argument_checks, numerics, drawing, data, distributions, evaluation,
sensitivity, engines, models, results, reports, estimators.
"""
