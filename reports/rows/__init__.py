"""Rows that pictures and tables show: samples and profiles."""
