"""Rows of data: tables, scales, standardised blocks of rows, sources, and sums over rows.

May import: errors, argument_checks, numerics.
"""
