"""Formulas of rows that are not all in memory: what is learned of them in passes over blocks.

A sample of the rows, with the rows that show what there is (every level, group, largest and
smallest value), is bound and encoded as any table is. What transforms learn is then replaced by
what all rows say: sums over blocks, and exact quantiles.
"""
