"""Which lessons a person has finished: a small file in the user's own state folder.

It is never needed: a file that is missing or damaged counts as empty, and one that cannot be
written is left alone.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from scratch_embed.files import read_bytes, replacing


def state_dir() -> Path:
    """The folder for what a person did, which may be missing.

    $SCRATCH_EMBED_STATE if it is set, otherwise `scratch_embed` in the place for such files:
    ~/.local/state (or $XDG_STATE_HOME) on Linux, ~/Library/Application Support on macOS,
    %LOCALAPPDATA% on Windows.
    """
    chosen = os.environ.get("SCRATCH_EMBED_STATE")
    if chosen:
        return Path(chosen)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or os.path.expanduser("~/AppData/Local")
    elif sys.platform == "darwin":
        base = os.path.expanduser("~/Library/Application Support")
    else:
        base = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return Path(base) / "scratch_embed"


def finished() -> set[str]:
    """The names of the lessons that were run or walked to their end."""
    try:
        noted = json.loads(read_bytes(_path()).decode("utf-8"))
    except (OSError, ValueError):
        return set()
    names = noted.get("lessons") if isinstance(noted, dict) else None
    return {name for name in names or [] if isinstance(name, str)}


def finish(name: str) -> None:
    """Note that a lesson was finished."""
    names = finished() | {name}
    try:
        with replacing(_path()) as temporary:
            text = json.dumps({"lessons": sorted(names)}, indent=1) + "\n"
            temporary.write_text(text, encoding="utf-8")
    except OSError:
        pass  # a mark is a comfort: no lesson fails for it


def forget() -> bool:
    """Remove the marks. Returns whether there were any."""
    try:
        _path().unlink()
    except OSError:
        return False
    return True


def _path() -> Path:
    return state_dir() / "finished.json"
