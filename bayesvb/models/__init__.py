"""Models: a gate and an expert joined under one contract."""
