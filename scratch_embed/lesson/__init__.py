"""The lesson engine: what a lesson or a lab calls.

from scratch_embed.lesson import begin, beside, compare, guess, save_figure, show, worked   a lesson
from scratch_embed.lesson import across, begin, guess, options, progress, save_figure       a lab
"""

from scratch_embed.lesson import worked
from scratch_embed.lesson.ask import guess
from scratch_embed.lesson.lab import across
from scratch_embed.lesson.play.here import play
from scratch_embed.lesson.proof import beside, compare, show
from scratch_embed.lesson.tools import lab_text, options, progress, save_figure, say
from scratch_embed.lesson.walk.cli import begin

__all__ = [
    "across", "begin", "beside", "compare", "guess", "lab_text", "options", "play", "progress",
    "save_figure", "say", "show", "worked",
]  # fmt: skip
