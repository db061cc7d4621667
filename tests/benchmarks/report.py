"""How results are shown: rows as they come, a closing table of bars, and JSON."""

from __future__ import annotations

import json
from pathlib import Path

from scratch_embed.files import replacing
from scratch_embed.lesson.timing import Spread, readable
from scratch_embed.sizes import human

from .machine import last_cache
from .registry import BENCHMARKS, Row

LETTERS = ("V", "D", "N")


def row_lines(row: Row) -> str:
    """A row: what was measured, times with their spread, ratios, notes and verdicts."""
    lines = [f"  {row.case}: {facts_line(row.facts)}"]
    if row.wrong:
        return "\n".join([*lines, f"    WRONG: {row.wrong}; not timed"])
    for name, times in row.times.items():
        middle, low, high = times.spread
        text = f"    {name:<28} {readable(middle):>9}  ({readable(low)} to {readable(high)})"
        if name != "ours" and any({name, "ours"} <= ways for ways in row.together):
            text += f"   {row.ratio(name).median:8.2f} x ours"
        if name == "ours" and row.share():
            text += f"   {row.share().median:8.0%} of copy"
        lines.append(text)
    lines += [f"    {name}: {_number(value)}" for name, value in row.notes.items()]
    lines += [f"    -> {verdict_line(verdict)}" for verdict in row.verdicts]
    return "\n".join(lines)


def facts_line(facts: dict) -> str:
    """V=50,257 D=768 N=8,192 float32, uniform ids, table 154M bytes = 4.6 caches, 2 threads"""
    facts = dict(facts)
    parts = [" ".join(f"{key}={facts.pop(key):,}" for key in LETTERS if key in facts)]
    parts.append(facts.pop("dtype", ""))
    if "ids" in facts:
        parts.append(f"{facts.pop('ids')} ids")
    if "table_bytes" in facts:
        size, cache = facts.pop("table_bytes"), last_cache()
        share = f" = {size / cache:.2g} caches" if cache else ""
        parts.append(f"table {human(size)} bytes{share}")
    threads = facts.pop("threads", None)
    parts += [f"{key} {value}" for key, value in facts.items()]
    parts += [f"{threads} threads" if threads != 1 else "1 thread"] if threads else []
    return ", ".join(filter(None, parts))


def verdict_line(verdict) -> str:
    value = "" if verdict.value is None else f" {verdict.value:.3g}"
    if verdict.value is not None and verdict.low != verdict.high:
        value += f" ({verdict.low:.3g} to {verdict.high:.3g})"
    return f"{verdict.what}{value}, {verdict.kind} {verdict.limit:g}: {verdict.word}"


def closing_table(rows: list[Row], failed: dict[str, str]) -> str:
    """One block for each benchmark that ran: its goal, how many bars were reached, the misses."""
    lines = ["", "Verdicts"]
    for name, one in BENCHMARKS.items():
        mine = [row for row in rows if row.benchmark == name]
        if not mine and name not in failed:
            continue
        known = [(row, verdict) for row in mine for verdict in row.verdicts]
        measured = [pair for pair in known if pair[1].reached is not None]
        reached = sum(verdict.reached for _, verdict in measured)
        lines += ["", f"{name}: {one.bar}", f"  {reached} of {len(measured)} reached"]
        unknown = len(known) - len(measured)
        if unknown:
            lines[-1] += f", {unknown} not measured"
        missed = [(row, verdict) for row, verdict in measured if not verdict.reached]
        missed.sort(key=lambda pair: -pair[1].missed_by)
        lines += [f"  {row.case}: {verdict_line(verdict)}" for row, verdict in missed]
        lines += [f"  WRONG {row.case}: {row.wrong}" for row in mine if row.wrong]
        if name in failed:
            lines.append(f"  FAILED: {failed[name]}")
    return "\n".join(lines)


def as_json(rows: list[Row], run: dict, failed: dict[str, str]) -> dict:
    """Everything, in plain numbers; times in seconds, ratios as peer over ours."""
    benchmarks = {}
    for row in rows:
        one = BENCHMARKS[row.benchmark]
        entry = benchmarks.setdefault(row.benchmark, {"bar": one.bar, "rows": []})
        entry["rows"].append(_row(row))
    return {"run": run, "benchmarks": benchmarks, "failed": failed}


def _row(row: Row) -> dict:
    beside = [n for n in row.times if any({n, "ours"} <= ways for ways in row.together)]
    return {
        "case": row.case,
        "facts": row.facts,
        "checks": row.checks,
        "wrong": row.wrong,
        "seconds": {
            name: {**times.spread._asdict(), "rounds": len(times.seconds)}
            for name, times in row.times.items()
        },
        "ratios": {name: row.ratio(name)._asdict() for name in beside if name != "ours"},
        "share of copy": row.share()._asdict() if "ours" in row.times and row.share() else None,
        "notes": {
            name: value._asdict() if isinstance(value, Spread) else value
            for name, value in row.notes.items()
        },
        "verdicts": [{**v._asdict(), "verdict": v.word} for v in row.verdicts],
    }


def write_json(path: Path, results: dict) -> None:
    """Write it whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(results, indent=1, default=float) + "\n", encoding="utf-8")


def _number(value) -> str:
    if isinstance(value, Spread):
        return f"{value.median:.4g} ({value.low:.4g} to {value.high:.4g})"
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
