"""How things look: text and tables in a terminal, Markdown and TeX as plain text."""
