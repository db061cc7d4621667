"""The questions of the lessons, asked again: `python -m lessons quiz`.

command   the command line, and a round of questions with its score
asked     the questions of a lesson, with the answers that a run of it computes
memory    which questions went right and which wrong
"""
