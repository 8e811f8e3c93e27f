"""Engines: the algorithms which fit any model."""
