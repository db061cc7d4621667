"""Writing: a file appears whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: str | os.PathLike) -> Iterator[Path]:
    """Hand out a temporary name beside `path`, and rename it to `path` when the block succeeds.

    A reader sees the old file or the new one, never half of it. When the block fails, or is
    interrupted with Ctrl-C, the temporary file is removed and `path` stays as it was. A folder
    that does not exist yet is made.

        with replacing("figures/table.png") as temporary:
            temporary.write_bytes(picture)

    Raises IsADirectoryError when `path` is a folder, and OSError when nothing can be written there.
    """
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder. Name a file inside it.")
    path.parent.mkdir(parents=True, exist_ok=True)
    # mkstemp opens the file as nobody else can, so two processes never share a temporary name.
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        os.chmod(temporary, path.stat().st_mode if path.exists() else 0o666 & ~_umask())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _umask() -> int:
    """The permissions that new files do not get. The system only tells them while setting them."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
