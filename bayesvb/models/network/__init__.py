"""Conditional mixture networks: experts that feed a latent layer and an output layer."""
