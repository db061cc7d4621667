"""Compare hand-written gradients with finite differences, entry by entry.

    from scratch_embed.gradcheck import gradcheck
    print(gradcheck(lambda E: lookup(E, [1, 1, 2]), E))

`python -m scratch_embed.gradcheck` checks every operation and layer of the package.
"""

from scratch_embed.gradcheck.check import gradcheck
from scratch_embed.gradcheck.quotient import slopes
from scratch_embed.gradcheck.reentrant import reentrant
from scratch_embed.gradcheck.report import GradcheckError, Report, Row
from scratch_embed.gradcheck.study import Study, exact, step_study

__all__ = [
    "GradcheckError",
    "Report",
    "Row",
    "Study",
    "exact",
    "gradcheck",
    "reentrant",
    "slopes",
    "step_study",
]
