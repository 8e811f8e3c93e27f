"""Variational principal components."""
