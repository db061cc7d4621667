"""Text and what becomes of it: corpora, words and their counts, byte pair encoding."""
