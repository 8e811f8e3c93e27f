"""Experts: the likelihood of a row given its component, one per file."""
