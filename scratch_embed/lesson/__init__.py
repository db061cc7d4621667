"""The lesson engine: runs a chapter's script, and the calls by which a lesson answers its claims.

from scratch_embed.lesson import begin, check, compare, erratum, options, progress
from scratch_embed.lesson import quiz, reference, save_figure, say, show_trace, verdict, worked
"""

from . import worked
from .checks import check, compare, erratum, reference, verdict
from .cli import begin
from .questions import quiz
from .tools import options, progress, save_figure, say
from .tracer import show_trace

__all__ = [
    "begin", "check", "compare", "erratum", "options", "progress", "quiz", "reference",
    "save_figure", "say", "show_trace", "verdict", "worked",
]  # fmt: skip
