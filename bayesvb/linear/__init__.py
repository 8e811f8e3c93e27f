"""Structured designs and precisions: one way to write a regression, whatever its structure.

May import: numerics.
"""
