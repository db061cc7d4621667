"""A small lesson for the engine's tests, with room for one cell of each test's own."""

DEMO = '''"""A demo."""
from __future__ import annotations

# %% [markdown]
# # {number}. A demo lesson
# The hidden state $h$ meets one row.

# %%
import numpy as np

from scratch_embed.lesson import begin, check, compare, erratum, options, quiz, verdict, worked

begin()
h = np.array([0.6, 0.1, 0.3])
logit = worked.dot("h . cat", h, [0.8, -0.2, 0.4])
check("logit", logit, printed="0.58")

# %% [markdown]
# ## A question

# %%
quiz("parameters", "How many numbers has a table of 6 by 3?", 6 * len(h), because="6 times 3")

# %%
{extra}

# %%
erratum("llama", 128256 * 4096 + len(h) - 3, printed="525.4 M", because="the product")
compare("dE", hand=h, ours=h, numeric=h + 1e-10)

# %%
verdict()
'''


def write(folder, number=0, extra="print('extra ran')"):
    """Write the demo as folder/ch0N_demo.py, with no claims.csv beside it; return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"ch{number:02d}_demo.py"
    path.write_text(DEMO.format(number=number, extra=extra), encoding="utf-8")
    return path
