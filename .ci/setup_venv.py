"""Brings .venv in order for the Makefile: made once, filled with what setup.cfg asks for.

Runs from the top folder on a bare Python 3.11 or newer, hence only the standard library.
What is there and works is never deleted, and without a network it goes on being used.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

VENV = Path(".venv")
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
THIS = f"{sys.version_info.major}.{sys.version_info.minor}"
STAMP = VENV / "installed.txt"  # what it was completed for
BUSY = VENV / "installing"  # is there while pip is at work, and after pip was killed


def stamp_text() -> bytes:
    """The Python version and the contents that decide what .venv should hold."""
    contents = Path("setup.cfg").read_bytes() + Path("pyproject.toml").read_bytes()
    return THIS.encode() + b"\n" + contents


def in_order() -> bool:
    """Whether .venv was completed for exactly these contents and this Python."""
    return PYTHON.exists() and STAMP.exists() and STAMP.read_bytes() == stamp_text()


def requirements() -> tuple[list[str], list[str]]:
    """What setup.cfg asks for: (to run, to test)."""
    return listed("options", "install_requires"), listed("options.extras_require", "test")


def listed(section: str, key: str) -> list[str]:
    """The lines of a list in setup.cfg."""
    import configparser

    config = configparser.ConfigParser(interpolation=None)
    config.read("setup.cfg", encoding="utf-8")
    if key not in config[section]:
        stop(f"setup.cfg lists nothing under {key!r}; there are {', '.join(config[section])}")
    return [line for line in config[section][key].split("\n") if line]


def run(*arguments: str, quiet: bool = False) -> tuple[bool, str]:
    """Run .venv's Python; (whether it succeeded, what it printed if quiet)."""
    import subprocess

    # stdout stays free for the lesson that follows; PIP_USER would install outside .venv;
    # without a network, pip's own number of retries takes ten seconds to say so
    out = subprocess.PIPE if quiet else sys.stderr
    env = {"PIP_RETRIES": "2", **os.environ, "PIP_USER": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    command = [PYTHON, *arguments]
    done = subprocess.run(
        command, check=False, stdout=out, stderr=subprocess.STDOUT, env=env, encoding="utf-8"
    )
    return done.returncode == 0, done.stdout or ""


def say(sentence: str) -> None:
    print("set-up: " + sentence, file=sys.stderr, flush=True)


def stop(sentence: str) -> None:
    raise SystemExit("set-up: " + sentence)


def make_venv() -> None:
    """See that .venv holds a Python of this version, and pip."""
    probe = (
        "import sys; print(*sys.version_info[:2], sep='.'); sys.exit(sys.prefix == sys.base_prefix)"
    )
    works, version = run("-c", probe, quiet=True) if PYTHON.exists() else (False, "")
    if works and version.strip() != THIS:
        stop(
            f".venv holds Python {version.strip()} and this is Python {THIS}: "
            "to change over, delete it (rm -rf .venv) and run this again"
        )
    try:
        import ensurepip  # noqa: F401
        import venv
    except ImportError:
        stop(
            f"this Python {THIS} comes without its venv module: on Debian or Ubuntu, "
            "sudo apt install python3-venv, elsewhere choose another with PYTHON=..."
        )
    if not works:
        say(f"making .venv with Python {THIS}")
        venv.create(VENV, clear=True, symlinks=os.name != "nt")
    if not run("-m", "pip", "--version", quiet=True)[0]:
        done, printed = run("-m", "ensurepip", "--upgrade", quiet=True)
        if not done:
            stop("pip could not be put into .venv: " + printed)


def install() -> None:
    """Install what setup.cfg asks for, and stamp .venv when that is done."""
    to_run, to_test = requirements()
    killed = BUSY.exists()  # then a package may look whole and not be
    if killed or not run_pip("--no-index", *to_run, *to_test, quiet=True):
        say(f"installing {names(to_run + to_test)} (once; needs a network)")
        BUSY.touch()
        done = run_pip(*(["--force-reinstall"] if killed else []), *to_run, *to_test)
        if done or not killed:
            BUSY.unlink()
        if not done:
            if not run("-c", "import " + names(to_run), quiet=True)[0]:
                stop("pip failed for the reason above: is there a network? Then run this again")
            say("pip could not bring .venv up to date, but what it holds works, so on we go")
            return
    finished = STAMP.with_suffix(".tmp")
    finished.write_bytes(stamp_text())
    os.replace(finished, STAMP)


def install_extra(name: str) -> None:
    """Install what setup.cfg lists under an extra, as `make book` needs it."""
    stamp, required = VENV / f"{name}.txt", listed("options.extras_require", name)
    if stamp.exists() and stamp.read_text(encoding="utf-8").splitlines() == required:
        return
    if not run_pip("--no-index", *required, quiet=True):
        say(f"installing {names(required)} (once; needs a network)")
        if not run_pip(*required):
            stop("pip failed for the reason above: is there a network? Then run this again")
    stamp.write_text("\n".join(required) + "\n", encoding="utf-8")


def see_this_folder() -> None:
    """Let .venv's Python find the package wherever it runs, also after this folder was moved."""
    site = VENV / ("Lib/site-packages" if os.name == "nt" else f"lib/python{THIS}/site-packages")
    note, here = site / "scratch_embed.pth", f"{Path.cwd()}\n"
    if site.is_dir() and not (note.exists() and note.read_text(encoding="utf-8") == here):
        note.write_text(here, encoding="utf-8")


def run_pip(*arguments: str, quiet: bool = False) -> bool:
    loud = not quiet and sys.stderr.isatty()
    return run("-m", "pip", "install", *([] if loud else ["-q"]), *arguments, quiet=quiet)[0]


def names(required: list[str]) -> str:
    """["numpy>=2.0", "numba>=0.60"] -> "numpy, numba"; each is imported under the same name."""
    return ", ".join(line.split(">=")[0] for line in required)


def wait_for_turn(handle) -> None:
    """Lock an open file, so that of two makes at once the second waits; a kill frees it too."""
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX)
    except (ImportError, OSError):
        pass  # Windows, or a network drive without locks: two makes at once are up to the user


def main() -> None:
    if in_order():
        see_this_folder()
        return
    import signal

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends pip too, as Ctrl-C does
    try:
        with open("setup.cfg", "rb") as handle:
            wait_for_turn(handle)
            if not in_order():
                make_venv()
                install()
                see_this_folder()
    except KeyboardInterrupt:
        stop("interrupted; run the same command again and it will be completed")


def bring_in_order() -> None:
    """.venv as setup.cfg wants it, with the extras that are named on the command line."""
    main()
    for name in sys.argv[1:]:
        install_extra(name)


if __name__ == "__main__":
    bring_in_order()
