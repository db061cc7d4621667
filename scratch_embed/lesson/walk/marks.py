"""Which lessons a person has finished: a small file in the user's own state folder.

It is never needed: a file that is missing or damaged counts as empty, and one that cannot be
written is left alone.
"""

from __future__ import annotations

import json
from pathlib import Path

from scratch_embed.files import read_bytes, replacing, state_dir


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
