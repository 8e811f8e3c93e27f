"""Studies: many fits to simulated or held-out rows, which tell what fits of a model are worth.

May import: errors, argument_checks, drawing, numerics, data, variational, formula,
evaluation, sensitivity, engines, models, results, estimators.
"""
