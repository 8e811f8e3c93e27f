"""Files and ArviZ objects: columns as arrays, netCDF, both lines of ArviZ.

May import: errors.
"""
