"""What is said on the pages that list others. All else on the pages comes from the course."""

WELCOME = """\
# scratch_embed

How does an integer become a vector, and how does a gradient find its way back to the right row?
These lessons calculate it by hand, with the numbers on the page, and check every gradient with a
nudge: a number moved a little, and the loss looked at again. Every number, table and picture here
was computed by the script that its page was made of.

Read the questions, guess, and open the answer afterwards. No Python is needed to read. To run a
lesson, or to step through it, see [how](running.md).
"""
RUNNING = """\
# Run it yourself

With Python 3.11 or newer:

```text
pip install scratch-embed          # or a checkout, and: make setup
python -m lessons 0 --step         # in a checkout: an Enter a step
scratch-embed lessons 0 --step     # the same, installed
```

Each page offers its script and its notebook; both run as they are where the package is installed.
`python -m lessons exercise` lists the exercises and checks what you write, `python -m lessons quiz`
asks the questions of the lessons again, `python -m lessons 11 --trace` walks forward and back
through a tape.
"""
OTHERS = [  # the pages that stand beside the lessons
    "running", "simulations", "exercises/index", "labs/index", "claims/index", "glossary",
    "reference/index",
]  # fmt: skip
SIMULATIONS = """\
# Pictures that move

Each asks a question before the first move. Every state is in the page; nothing is asked of a
network.
"""
QUICK = "*This page shows a quick run: fewer seeds, smaller budgets.*"
LABS = """\
# Labs: experiments that measure

Several seeds and budgets, a control and a trivial baseline beside the result, the threshold written
before it was seen, and no claim beyond the spread.
"""
EXERCISES = """\
# Write it yourself

Each is a file with a contract: shapes, formula, an example with its numbers. What you write is
checked against finite differences, and mistakes are named.
"""
CLAIMS = """\
# What printed sources say, judged

reproduced
: computed to the printed digits

measured
: a lab's spread bears it out, or bounds it

corrected
: computed, and the print is wrong; what is right, and why, stands there

given
: a definition, or an outside fact with its source

open
: not decidable here, and why
"""
REFERENCE = """\
# Reference

Everything that a user may import, from its docstrings. `from scratch_embed import Tensor,
Embedding, SGD` is short for the modules below.
"""
