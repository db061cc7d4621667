"""What came out of a run: a JSON file of its numbers and a picture, each written whole or not."""

from __future__ import annotations

import json
import platform
from pathlib import Path

import numpy as np

from scratch_embed import __version__
from scratch_embed.files import replacing
from scratch_embed.plot import save


def write_results(folder: Path, results: dict, figure=None) -> list[Path]:
    """Write `results.json` into the folder, and `results.png` beside it. Returns their paths.

    Without a figure none of an earlier run stays beside the new numbers.

    results : numbers, strings, lists and dicts of them; NumPy's become Python's. Raises ValueError
        for NaN and infinities, which JSON does not know, and OSError as writing does.
    """
    made_with = {"scratch_embed": __version__, "numpy": np.__version__}
    made_with["python"] = platform.python_version()
    text = json.dumps(results | {"made_with": made_with}, indent=1, allow_nan=False, default=_plain)
    path = Path(folder) / "results.json"
    with replacing(path) as temporary:
        temporary.write_text(text + "\n", encoding="utf-8")
    picture = Path(folder) / "results.png"
    if figure is None:
        picture.unlink(missing_ok=True)
        return [path]
    return [path, save(figure, picture)]


def _plain(value):
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    raise TypeError(f"results hold a {type(value).__name__}")
