"""Reports: a fit as one self-contained HTML page."""
