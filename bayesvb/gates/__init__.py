"""Gates: how the weights of the experts depend on the covariates, one bound per file."""
