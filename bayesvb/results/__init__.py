"""Fits and their output: draws, summaries, criteria, comparison, and saving.

May import: errors, argument_checks, drawing, linear, numerics, storage, data, factors,
variational, formula, distributions, evaluation, sensitivity, engines, models.
"""
