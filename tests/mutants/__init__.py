"""make mutants: small mistakes put into the core, one at a time, and whether a test sees each.

mutate.py      the mistakes, over the syntax tree
trial.py       a copy of the project, and the tests on it in a forked process
__main__.py    by module: how many were seen, and those that were not
README.md      what was measured, and which survivors change nothing
"""
