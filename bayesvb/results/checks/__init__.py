"""Verdicts on a fit, with known error rates: of the fit, its computation, its accuracy."""
