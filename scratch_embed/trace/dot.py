"""The graph of a trace in the language of Graphviz: trace.dot() | dot -Tsvg > graph.svg"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scratch_embed.trace import graph
from scratch_embed.trace.choice import Choice, checked

if TYPE_CHECKING:
    from scratch_embed.trace import Trace

FILLS = {graph.DONE: "#DCEEF9", graph.CURRENT: "#FCE3CF", graph.COLLECTING: "#FBF6C9",
         graph.WAITING: "#FFFFFF", graph.CONSTANT: "#EFEFEF"}  # fmt: skip
HEAD = """\
digraph trace {
  rankdir=LR;
  node [shape=box, style="rounded,filled", fontname="monospace", fontsize=10];
  edge [fontname="sans-serif", fontsize=9];
  labelloc=t; labeljust=l; fontname="monospace"; fontsize=10;"""


def dot(trace: Trace, step: int, choice: Choice | None = None) -> str:
    """Nodes n0, n1, ... with the names in their labels, so that any name is allowed."""
    choice = None if choice is None else checked(trace, step, choice)
    head, formula = graph.title(trace, step)
    told = [head, *formula.splitlines(), *graph.worked(trace, step, choice)]
    lines = [HEAD, f"  label={quoted(*told)};"]
    node = {}
    for box in graph.boxes(trace, step, choice):
        node[box.name] = f"n{len(node)}"
        dashed = ', style="rounded,filled,dashed"' if box.state == graph.WAITING else ""
        lines.append(f"  {node[box.name]} [label={quoted(box.name, *box.text)}, "
                     f'fillcolor="{FILLS[box.state]}"{dashed}];')  # fmt: skip
    for edge in graph.edges(trace, step):
        marks = [f"label={quoted(edge.note)}"] if edge.note else []
        marks += ["dir=back"] if edge.backward else []
        marks += ["penwidth=2.5"] if edge.state == graph.CURRENT else []
        marks += ["style=dashed"] if edge.state == graph.WAITING else []
        drawn = f"  {node[edge.parent]} -> {node[edge.child]} [{', '.join(marks)}];"
        lines += [drawn] * edge.count
    return "\n".join([*lines, "}"]) + "\n"


def quoted(*lines: str) -> str:
    r"""A quoted label, lines aligned on the left (\l). Backslashes and quotes lose their meaning.

    >>> print(quoted('say "E\\n"'))
    "say \"E\\n\"\l"
    """
    marks = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})
    return '"' + "".join(line.translate(marks) + "\\l" for line in lines) + '"'
