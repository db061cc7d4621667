"""`scratch-embed`, or `python -m scratch_embed`: the lessons and the instruments as commands."""

from __future__ import annotations

import importlib
import sys

from scratch_embed import one_thread  # noqa: F401, it comes before what imports NumPy
from scratch_embed.ending import ended
from scratch_embed.uninterrupted import uninterrupted

# A command and its module, whose main(argv) returns the exit code.
COMMANDS = {
    "gradcheck": "scratch_embed.gradcheck.__main__",
    "lm": "scratch_embed.training.lm",
    "patches": "scratch_embed.training.patches",
    "recommender": "scratch_embed.training.recommender",
    "word2vec": "scratch_embed.training.word2vec",
    "neighbours": "scratch_embed.training.neighbours",
}

LESSONS = "walk.cli", "tools", "usage"  # below scratch_embed.lesson

USAGE = """\
usage: scratch-embed lessons [...]     the course: its map, or one lesson, lab, exercise, quiz
       scratch-embed gradcheck [...]   compare every backward with finite differences
       scratch-embed lm [FILE]         train a small language model on a text
       scratch-embed word2vec [TEXT]   learn vectors of the words of a text
       scratch-embed neighbours [...]  ask vectors for words, analogies, agreement with people
       scratch-embed patches [...]     letters by their patches, in fonts never seen
       scratch-embed recommender [...] two towers, on clicks of known tastes
       scratch-embed --version

scratch-embed lessons 0 --step is the way to begin; each command has a --help of its own.
"""


def main(argv: list[str] | None = None) -> int:
    """Run one command; returns its exit code, 2 for a command that does not exist."""
    argv = sys.argv[1:] if argv is None else argv
    word, rest = (argv[0], argv[1:]) if argv else ("lessons", [])
    if word == "lessons":
        return ended(lambda: _lessons(rest))
    if word in COMMANDS:
        return ended(lambda: _loaded(COMMANDS[word]).main(rest))
    if word == "--version":
        from scratch_embed import __version__

        return ended(lambda: print(f"scratch_embed {__version__}") or 0)
    if word in ("-h", "--help"):
        return ended(lambda: print(USAGE, end="") or 0)
    print(f"scratch-embed: there is no command {word}.\n\n{USAGE}", end="", file=sys.stderr)
    return 2


def _lessons(argv: list[str]) -> int:
    cli, tools, usage = map(_loaded, (f"scratch_embed.lesson.{n}" for n in LESSONS))
    usage.called("scratch-embed lessons")
    return cli.main(tools.course_folder(), argv)


def _loaded(module: str):
    """A module, and what it imports: NumPy, interrupted on the way, says something else."""
    with uninterrupted():
        return importlib.import_module(module)


if __name__ == "__main__":
    sys.exit(main())
