"""Files: everything that this package reads from disk or writes to it goes through here.

regular     only regular files: a pipe may never answer, a device never ends
reading     no more than the file holds
writing     whole or not at all, links followed, room taken first
folders     made on the way, and gone again where they stay empty
alone       one run at a time in a folder
temporary   the hidden file beside the one that is written, and what killed runs left of it
cache       the one folder that this package may fill on its own
"""

from scratch_embed.files.alone import alone_in
from scratch_embed.files.cache import cache_dir, state_dir
from scratch_embed.files.folders import make_folder
from scratch_embed.files.reading import (
    BAD_HEADER,
    BAD_NPZ,
    from_json,
    open_regular,
    read_array,
    read_bytes,
)
from scratch_embed.files.regular import sentence
from scratch_embed.files.writing import check_ending, check_writable, replacing, reserve

__all__ = [
    "BAD_HEADER",
    "BAD_NPZ",
    "alone_in",
    "cache_dir",
    "check_ending",
    "check_writable",
    "from_json",
    "make_folder",
    "open_regular",
    "read_array",
    "read_bytes",
    "replacing",
    "reserve",
    "sentence",
    "state_dir",
]
