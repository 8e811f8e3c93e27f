"""What a fit is, and all that is said of it: draws, summary, criteria, comparison, saving.

May import: errors, argument_checks, drawing, linear, numerics, storage, data, factors,
variational, formula, distributions, evaluation, sensitivity, engines, models.
"""
