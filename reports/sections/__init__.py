"""Sections of the report: each a summary and the template which shows it."""
