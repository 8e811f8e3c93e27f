"""Models: what engines fit. One file or folder each.

May import: numerics, data, factors, variational, distributions, gates, experts.
"""
