"""Experts: what a component says of the response, one likelihood per file."""
