"""A script that ran as a Jupyter notebook: JSON of the nbformat 4.5, with all outputs in it.

The source of a cell is that of the script, piece by piece. A piece that ends on a call gets a
semicolon, which tells Jupyter not to show what the call returns: what there is to see, it shows.
"""

from __future__ import annotations

import ast
import hashlib
import json
from pathlib import Path

from scratch_embed.book.pieces import Piece
from scratch_embed.book.running import Ran
from scratch_embed.files import read_bytes, replacing

KERNEL = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
OURS = "scratch_embed"  # where the metadata hold the digest of what we wrote
BY_PROGRAMS = {  # metadata that Jupyter, VS Code and Colab write when a notebook runs or is folded
    "kernelspec", "language_info", OURS, "jupyter", "collapsed", "scrolled", "execution",
    "ExecuteTime", "vscode", "widgets", "colab", "id", "outputId", "executionInfo", "trusted",
}  # fmt: skip
NOTHING = {"begin", "beside", "compare", "print", "say", "show"}  # what these return
FOLDED = ("imports", "helper", "quiz")  # Jupyter shows a bar that opens them


def write(ran: Ran, path: Path) -> bool:
    """Write the notebook of a script; False, and nothing is written, over one edited since."""
    if path.exists() and not _is_ours(path):
        return False
    with replacing(path) as temporary:
        temporary.write_text(text(ran), encoding="utf-8")
    return True


def edited(folder: Path) -> list[Path]:
    """The notebooks in a folder that are no longer as we wrote them."""
    found = (each for each in folder.rglob("*.ipynb") if ".ipynb_checkpoints" not in each.parts)
    return sorted(each for each in found if not _is_ours(each))


def text(ran: Ran) -> str:
    """The notebook as the text of its file."""
    return json.dumps(notebook(ran), indent=1, ensure_ascii=False) + "\n"


def _is_ours(path: Path) -> bool:
    """Whether all cells and what is noted of them are as we wrote them; outputs anybody can make
    anew."""
    try:
        found = json.loads(read_bytes(path).decode("utf-8"))
        return found["metadata"][OURS] == _digest(found["cells"], found["metadata"])
    except (ValueError, KeyError, TypeError, RecursionError, OSError):  # none, or none of ours
        return False


def _digest(cells: list[dict], metadata: dict) -> str:
    """A number of what stands in the cells, and of tags, slides, a title: however a program that
    saves them cuts their lines, and whatever it notes by itself when they run."""
    said = [
        [cell["cell_type"], "".join(cell["source"]), _chosen(cell["metadata"])] for cell in cells
    ]
    whole = json.dumps([said, _chosen(metadata)], sort_keys=True)
    return hashlib.sha256(whole.encode()).hexdigest()


def _chosen(metadata: dict) -> dict:
    """What a person has put there, and no program."""
    return {key: value for key, value in metadata.items() if key not in BY_PROGRAMS}


def notebook(ran: Ran) -> dict:
    """The notebook as nested dicts and lists."""
    made, count = [], 0
    for place, (piece, shown) in enumerate(zip(ran.pieces, ran.shown)):
        cell = {"id": f"piece-{place}", "metadata": {}, "source": _lines(piece.text)}
        if piece.kind == "markdown":
            made.append({"cell_type": "markdown", **cell})
            continue
        count += 1
        cell["source"] = _lines(source(piece))
        cell["metadata"] = {"jupyter": {"source_hidden": True}} if piece.role in FOLDED else {}
        outputs = [_output(bundle) for bundle in shown]
        made.append({"cell_type": "code", **cell, "execution_count": count, "outputs": outputs})
    metadata = {**KERNEL, OURS: _digest(made, KERNEL)}
    return {"cells": made, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def source(piece: Piece) -> str:
    """The text of a piece of code as a notebook runs it."""
    last, lines = piece.nodes[-1], piece.text.splitlines()
    call = last.value if isinstance(last, ast.Expr) else None
    returns = isinstance(call, ast.Call) and getattr(call.func, "id", "") not in NOTHING
    if returns and piece.role != "quiz" and last.end_lineno - piece.line == len(lines) - 1:
        written = lines[-1].encode()  # ast counts bytes
        lines[-1] = (
            written[: last.end_col_offset] + b";" + written[last.end_col_offset :]
        ).decode()
    return "\n".join(lines)


def _output(bundle: dict[str, str]) -> dict:
    if "stream" in bundle:
        return {"output_type": "stream", "name": "stdout", "text": _lines(bundle["stream"])}
    data = {kind: text if kind == "image/png" else _lines(text) for kind, text in bundle.items()}
    return {"output_type": "display_data", "data": data, "metadata": {}}


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)
