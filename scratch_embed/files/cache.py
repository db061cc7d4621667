"""The folders that this package may fill on its own: what can be made again, and what was done."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def cache_dir() -> Path:
    """The folder for what can be computed again. It need not exist yet.

    $SCRATCH_EMBED_CACHE if it is set, otherwise `scratch_embed` inside the user's own cache folder:
    ~/.cache (or $XDG_CACHE_HOME) on Linux, ~/Library/Caches on macOS, %LOCALAPPDATA% on Windows.
    """
    places = {"darwin": "~/Library/Caches", "linux": "~/.cache"}
    return _users_own("SCRATCH_EMBED_CACHE", "XDG_CACHE_HOME", places)


def state_dir() -> Path:
    """The folder for what a person did, such as lessons finished. It need not exist yet.

    $SCRATCH_EMBED_STATE if it is set, otherwise `scratch_embed` in the place for such files:
    ~/.local/state (or $XDG_STATE_HOME) on Linux, ~/Library/Application Support on macOS,
    %LOCALAPPDATA% on Windows.
    """
    places = {"darwin": "~/Library/Application Support", "linux": "~/.local/state"}
    return _users_own("SCRATCH_EMBED_STATE", "XDG_STATE_HOME", places)


def _users_own(chosen: str, xdg: str, places: dict[str, str]) -> Path:
    """What the variable `chosen` names, or `scratch_embed` in the system's place for such files."""
    if os.environ.get(chosen):
        return Path(os.environ[chosen])
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or os.path.expanduser("~/AppData/Local")
    elif sys.platform == "darwin":
        base = os.path.expanduser(places["darwin"])
    else:
        base = os.environ.get(xdg) or os.path.expanduser(places["linux"])
    return Path(base) / "scratch_embed"
