"""One fit to the rows of several sites: each reports sums over its rows, and no row leaves it.

``rounds`` has the public functions. A site reads its rows by a ``design.SiteFrames``, which learns
its design from what all sites have pooled; from there on models do not ask where rows are.
"""
