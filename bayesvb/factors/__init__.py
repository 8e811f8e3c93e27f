"""Conjugate posteriors: one family per file."""
