"""Trainings that finish, one command a file: `scratch-embed lm`, `word2vec`, `patches`, ...

Shared by all of them:

command.py     options and their units, errors in a sentence, a run that is resumed
progress.py    the loop: a bar on a terminal, plain lines in a log, Ctrl-C between two steps
results.py     what came out: a JSON file and a picture, each written whole
memory.py      what a step frees stays at hand for the next
"""
