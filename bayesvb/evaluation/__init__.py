"""Measures of how well predictions fit observations: information criteria, calibration, scores.

May import: errors, linear, numerics, storage, data, distributions.
"""
