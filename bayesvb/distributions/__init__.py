"""Distributions of a row: mixtures of normals and of Student t, and predictions from them.

May import: errors, numerics, data, factors.
"""
