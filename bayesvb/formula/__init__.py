"""Formulas: parsed, bound to the columns of a table, encoded as design matrices.

Three stages with a value between them; a file says in its first line of which stage it is, and
imports nothing of a later one:

1. parse: a text becomes a ``Formula``, parts and names with their places, before any data.
2. bind: names become columns in their roles, a table the rows to use: ``BoundFormula``.
3. encode: the first rows leave an ``Encoder``, which makes the same columns of any rows.

``design`` calls them one after the other.

May import: errors, numerics, linear, data.
"""
