"""Arrays in, arrays out: linear algebra, special functions, root finding, threads.

May import: errors.
"""
