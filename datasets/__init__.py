"""Data sets: shipped tables and generators of simulated ones."""
