"""Formulas of rows that are not all in memory: their state is learned in passes over blocks.

A sample of the rows, with rows that contain every level, every group and the extreme values, is
bound and encoded like any table. The state of transforms is then replaced by values from all rows:
sums over blocks, and exact quantiles.
"""
