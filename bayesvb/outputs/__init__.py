"""Output layers of a network: the distribution of the response given the latent vector."""
