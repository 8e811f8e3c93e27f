"""Family and number of components: chosen by response and prediction, or by pruning one fit.

May import: errors, argument_checks, numerics, drawing, data, formula, distributions, evaluation,
sensitivity, engines, models, results, reports, estimators.
"""
