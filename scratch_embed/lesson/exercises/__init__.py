"""Exercises that grade themselves: `python -m lessons exercise`.

command   the command line: list, begin, check, hint, solution
exercise  one script of lessons/exercises: contract, solution, hints, checks
desk      the learner's folder: their files, and what is known of them
run       checks files in a process of their own, with a limit on its time
child     what that process does
judge     one file against its exercise: from loading it to the verdict
trial     the questions that an exercise's checks can ask
guilty    the line to look at first
parting   marks that a token may hold, and that a wrong merge cuts a text at
compare   an answer against the one it should be
report    the verdict in words
"""
