"""`python -m lessons play`: lists the simulations, opens one, writes one."""

from __future__ import annotations

import argparse
import os

from scratch_embed.files import check_ending, check_writable, sentence
from scratch_embed.lesson.usage import Parser, UsageError, spoken
from scratch_embed.look.terminal import paint, width, wrap

EXAMPLES = """\
python -m lessons play                         list the simulations
python -m lessons play lookup                  open one in the browser (Ctrl-C ends it)
python -m lessons play lookup --set word=dog   open it with a control moved
python -m lessons play lookup --html FILE      a page that holds every state, for any browser
python -m lessons play lookup --png FILE       one state as a picture
python -m lessons play lookup --gif FILE       what Play shows, as a moving picture
python -m lessons play lookup --window         a window instead of the browser

A FILE that is there is replaced.
"""

WRITTEN = {
    "--html": "write a page with every state in it",
    "--png": "write one state as a picture",
    "--gif": "write what Play shows as a moving picture",
}


def main(argv: list[str]) -> int:
    """Returns 0; UsageError for a wrong name or value."""
    made = Parser(
        prog="python -m lessons play",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    made.add_argument("name", nargs="?", help="which simulation")
    made.add_argument("--set", action="append", default=[], metavar="CONTROL=VALUE",
                      help="how it opens (may be given more than once)")  # fmt: skip
    for flag, told in WRITTEN.items():  # a shell leaves the ~ of --png=~/x.png to us
        made.add_argument(flag, type=os.path.expanduser, metavar="FILE", help=told)
    made.add_argument("--window", action="store_true", help="open a window")
    made.add_argument("--port", type=int, help="of the local server (a free one when none is said)")
    made.add_argument("--no-browser", action="store_true", help="only print the address")
    arguments = made.parse_args(argv)
    if arguments.name is None:
        if argv:
            raise UsageError(f"{argv[0]} needs a simulation: name one.")
        print(listing())
        return 0
    try:
        return _open(arguments)
    except (TypeError, ValueError, RuntimeError) as error:
        raise UsageError(f"play {arguments.name}: {str(error).rstrip('.')}.") from None
    except OSError as error:
        raise UsageError(f"play {arguments.name}: {sentence(error)}") from None


def listing() -> str:
    """All simulations, with the question that each asks."""
    from scratch_embed.simulations import NAMES, load

    lines = []
    for name in NAMES:
        simulation = load(name)
        lines.append(f"{paint(name, 'bold')}  {simulation.title}")
        lines += wrap(simulation.notice.question, width(), "    ")
    return spoken("\n".join([*lines, "", "python -m lessons play NAME opens one in the browser"]))


def _open(arguments: argparse.Namespace) -> int:
    from scratch_embed.lesson.play.values import read_values
    from scratch_embed.simulations import Scene, load

    simulation = load(arguments.name)
    written = [file for file in (arguments.html, arguments.png, arguments.gif) if file is not None]
    if len({os.path.realpath(file) for file in written}) < len(written):
        raise ValueError(f"{written[-1]} would be written twice: name a file of its own for each")
    served = not (written or arguments.window)
    if not served and (arguments.port is not None or arguments.no_browser):
        flag = "--no-browser" if arguments.port is None else "--port"
        raise ValueError(f"{flag} is for the browser, which is not used here: leave it out")
    typed = [tuple(word.partition("=")[::2]) for word in arguments.set]
    values = read_values(simulation.controls, typed)
    _check_files(arguments, simulation, values)
    if arguments.html is not None:
        from scratch_embed.lesson.play.page import write_page

        print(write_page(arguments.name, arguments.html))
    if arguments.png is not None:
        print(_picture(Scene(simulation, **values), arguments.png))
    if arguments.gif is not None:
        from scratch_embed.lesson.play.moving import write_gif

        print(write_gif(Scene(simulation, **values), arguments.gif))
    if arguments.window:
        from scratch_embed.lesson.play.window import show

        show(simulation, **values)
    if served:
        from scratch_embed.lesson.play.server import serve

        port = arguments.port or 0
        if not 0 <= port < 65536:
            raise ValueError(f"--port is {port}; it goes from 0 to 65535")
        serve(Scene(simulation, **values), port, not arguments.no_browser)
    return 0


def _check_files(arguments: argparse.Namespace, simulation, values: dict) -> None:
    """Raise what stands against a file that is asked for, before the first of them is made."""
    if arguments.html is not None and values:
        raise ValueError("--html holds every state, so --set has nothing to set: leave it out")
    if arguments.png is not None:
        from scratch_embed import plot

        check_ending(arguments.png, plot.ENDINGS)
    if arguments.gif is not None:
        from scratch_embed.lesson.play.moving import player

        check_ending(arguments.gif, [".gif"], "a moving picture")
        name = player(simulation).name
        if name in values:
            raise ValueError(f"--gif plays {name} from end to end: leave --set {name} out")
    for file in (arguments.html, arguments.png, arguments.gif):
        if file is not None:
            check_writable(file)
    if arguments.html is not None:
        check_ending(arguments.html, [".html", ".htm"], "a page")


def _picture(scene, path: str):
    """One state, written by `plot.save`."""
    from scratch_embed import plot

    return plot.save(scene.figure, path)
