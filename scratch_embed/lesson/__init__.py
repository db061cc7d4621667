"""The lesson engine: runs a chapter's script, and the calls by which a lesson answers its claims.

from scratch_embed.lesson import begin, check, compare, erratum, options, progress
from scratch_embed.lesson import quiz, reference, save_figure, say, show_trace, verdict, worked
"""

from scratch_embed.lesson import worked
from scratch_embed.lesson.ask import guess
from scratch_embed.lesson.claims.checks import check, erratum, reference, verdict
from scratch_embed.lesson.lab import across
from scratch_embed.lesson.proof import beside, compare, show
from scratch_embed.lesson.tools import options, progress, save_figure, say
from scratch_embed.lesson.walk.cli import begin
from scratch_embed.lesson.walk.questions import quiz
from scratch_embed.lesson.walk.tracer import show_trace

__all__ = [
    "across", "begin", "beside", "check", "compare", "erratum", "guess", "options", "progress",
    "quiz", "reference", "save_figure", "say", "show", "show_trace", "verdict", "worked",
]  # fmt: skip
