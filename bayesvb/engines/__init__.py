"""Engines: algorithms that know models only through ``AbstractModel``."""
