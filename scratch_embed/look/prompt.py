"""Where a person types Python, on what is known between two steps."""

from __future__ import annotations

import builtins
from contextlib import contextmanager

from scratch_embed.look.keys import echo


def python_prompt(names: dict, banner: str, filename: str = "<console>") -> None:
    """A Python prompt on these names, until exit() or the end of input."""
    import code  # here: only a person who asks needs a prompt

    console = code.InteractiveConsole(names, filename)
    with leaving_by_exit(), completing(names), echo(True):
        try:
            console.interact(banner, "")
        except SystemExit:
            pass


@contextmanager
def leaving_by_exit():
    """exit() and quit() leave the prompt only: Python's own close standard input for good."""

    class Leave:
        def __repr__(self) -> str:
            return "Type exit() or press Ctrl-D to go back to the lesson."

        def __call__(self, code=None):
            raise SystemExit(code)

    names = ("exit", "quit")
    kept = {name: getattr(builtins, name) for name in names if hasattr(builtins, name)}
    for name in names:
        setattr(builtins, name, Leave())
    try:
        yield
    finally:
        for name in names:
            delattr(builtins, name)
        vars(builtins).update(kept)


@contextmanager
def completing(namespace: dict):
    """Tab completes the lesson's names while prompting, where readline is there."""
    try:
        import readline
        import rlcompleter
    except ImportError:
        yield
        return
    kept = readline.get_completer()
    readline.set_completer(rlcompleter.Completer(namespace).complete)
    readline.parse_and_bind("tab: complete")
    try:
        yield
    finally:
        readline.set_completer(kept)
