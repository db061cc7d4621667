"""How a person walks: a lesson's cells, run, stepped through, traced; the command line."""
