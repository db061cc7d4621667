"""The one folder that this package may fill on its own."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def cache_dir() -> Path:
    """The folder for what can be computed again. It need not exist yet.

    $SCRATCH_EMBED_CACHE if it is set, otherwise `scratch_embed` inside the user's own cache folder:
    ~/.cache (or $XDG_CACHE_HOME) on Linux, ~/Library/Caches on macOS, %LOCALAPPDATA% on Windows.
    """
    chosen = os.environ.get("SCRATCH_EMBED_CACHE")
    if chosen:
        return Path(chosen)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or os.path.expanduser("~/AppData/Local")
    elif sys.platform == "darwin":
        base = os.path.expanduser("~/Library/Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base) / "scratch_embed"
