"""Marks and colours that every picture shares.

May import: nothing of this package.
"""
