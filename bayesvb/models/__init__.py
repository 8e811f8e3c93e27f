"""Models: what engines fit. One file or folder each.

May import: linear, numerics, data, factors, variational, distributions, gates, experts.
"""
