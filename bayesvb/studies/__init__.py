"""Studies: many fits to simulated or held-out rows, which measure how well fits of a model perform.

May import: errors, argument_checks, drawing, numerics, data, variational, formula,
evaluation, sensitivity, engines, models, results, estimators.
"""
