"""Trainings that finish, one command a file: `scratch-embed lm`, `word2vec`, `patches`, ...

Shared by all of them:

command.py     options with units and ranges, errors in a sentence, exit codes
run.py         a run's folder: its checkpoint, how it is resumed, how it ends
learning.py    a model with its optimiser and its chance, stopped between any two steps
repeats.py     the same with several seeds, several ways side by side
reading.py     a text read once, with a bar, into a file of ids
progress.py    the loop: a bar on a terminal, plain lines in a log, Ctrl-C between two steps
results.py     what came out: a JSON file and a picture, each written whole
memory.py      what a step frees stays at hand for the next
"""
