"""How things look and how one talks to them: text, tables, formulas and keys in a terminal."""
