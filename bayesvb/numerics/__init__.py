"""Arrays in, arrays out: linear algebra, special functions, root finding, forking, random streams.

May import: errors.
"""
