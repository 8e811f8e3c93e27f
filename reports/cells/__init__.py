"""What stands in the cells of tables: numerals, words, colours of checks."""
