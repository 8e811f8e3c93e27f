"""How well predictions fit observations: information criteria, calibration, scores.

May import: errors, numerics, storage, data, distributions.
"""
