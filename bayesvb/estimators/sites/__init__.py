"""One fit to the rows of several sites: each reports sums over its rows, and no row leaves it.

``rounds`` has the public functions. A site reads its rows by a ``design.SiteFrames``, which builds
its design from values pooled over the sites; later code does not depend on where rows are.
"""
