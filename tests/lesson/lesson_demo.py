"""A small lesson for the engine's tests, with room for one cell of each test's own."""

DEMO = '''"""A demo."""
from __future__ import annotations

# %% [markdown]
# # {number}. A demo lesson
# **Question.** What does the hidden state $h$ say of one row?
#
# **Time** 5 minutes. **Needs** nothing. **Exercises** `lookup_forward`.

# %%
import numpy as np

from scratch_embed.lesson import begin, compare, guess, options, worked

begin()
h = np.array([0.6, 0.1, 0.3])
logit = worked.dot("h . cat", h, [0.8, -0.2, 0.4])

# %% [markdown]
# ## A question

# %%
q = guess("How many numbers has a table of 6 by 3?")
q.answer(6 * len(h), because="6 times 3")

# %%
{extra}

# %%
compare("dE", hand=h, ours=h, numeric=h + 1e-10)

# %%
last = h
'''


def write(folder, number=0, extra="print('extra ran')"):
    """Write the demo as folder/ch0N_demo.py; return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"ch{number:02d}_demo.py"
    path.write_text(DEMO.format(number=number, extra=extra), encoding="utf-8")
    return path
