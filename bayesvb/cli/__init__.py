"""The command line: its commands, their options, the tables that they read and write.

May import: errors, storage, data, distributions, formula, datasets, gates, experts, engines,
results, effects, reports, estimators, model_selection, interactive.
"""
