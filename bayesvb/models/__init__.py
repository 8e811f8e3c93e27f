"""Models: what engines fit. One file each."""
