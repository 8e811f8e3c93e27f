"""The contract between models and engines: statistics in, posterior out.

May import: data, factors, linear, numerics.
"""
