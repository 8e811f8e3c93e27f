"""Arrays in, arrays out: linear algebra, special functions, root finding, threads, random streams.

May import: errors.
"""
