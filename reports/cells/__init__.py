"""Content of the cells of tables: numerals, words, colours of checks."""
