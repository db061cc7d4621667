"""What printed sources claim, and how a run judges it. A claims file needs only these names.

from scratch_embed.lesson.claims import corrected, given, measured, reproduced, undecided, values_of
"""

from scratch_embed.lesson.claims.calls import left, ran
from scratch_embed.lesson.claims.judging import corrected, given, measured, reproduced, undecided
from scratch_embed.lesson.claims.pages import values_of

__all__ = [
    "corrected", "given", "left", "measured", "ran", "reproduced", "undecided", "values_of"
]  # fmt: skip
