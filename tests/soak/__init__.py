"""make soak MINUTES=20: the properties on ever new examples, and everything hostile we know.

__main__.py    takes turns until the time is up, and counts
batch.py       one turn, in a process of its own: it may crash or hang without ending the soak
hostile.py     threads, forks, Ctrl-C, kills, full disks, damaged caches
trainings.py   trainings that are killed again and again, and go on
"""
