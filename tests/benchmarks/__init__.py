"""Benchmarks: ours, the limit of the machine and the peers, in turns, in one run.

    python -m tests.benchmarks [--quick] [--only NAME] [--json FILE]        (or: make bench QUICK=1)

How to add one
--------------
Put a file in this folder; every module here is imported. In it:

    from .registry import Bench, benchmark

    @benchmark("training step", "flat in V; ahead of torch with sparse=True at every shape")
    def training_step(bench: Bench) -> None:
        torch = bench.peer("torch")                 # the module, or None after saying so once
        for shape in bench.some(SHAPES):            # a few of them under --quick
            row = bench.row(f"SGD, {shape.name}", V=shape.V, D=shape.D, N=shape.N,
                            dtype="float32", ids="uniform", table_bytes=4 * shape.V * shape.D)
            ...
            row.check("one step", ours(), by_the_slow_reference(), rtol=1e-6)
            ways = {"ours": ours}
            if torch:
                ways["torch SparseAdam"] = theirs
            row.time(ways)
            row.bar("ahead of torch", row.ratio("torch SparseAdam"), at_least=1.0)

The interface
-------------
`@benchmark(name, bar)`   `bar` is the goal in words; the closing table quotes it.
`bench.quick`             whether to be done in a few seconds. `bench.some(items)` takes the first
                          two items of a sequence then, and all of them otherwise.
`bench.threads`           how many threads ours, the copy and the peers use (--threads).
`bench.rng()`             a fresh Generator with a fixed seed.
`bench.peer("torch")`     the module (torch comes with its threads set), or None.
`bench.row(case, **facts)`
    opens a row. Facts are printed: give V, D, N, dtype, ids, table_bytes and whatever else decides
    the time. Threads are added for you.
`row.check(what, value, expected, rtol=0, atol=0)`
    compares with the slow reference before timing; equal bits by default. A difference raises
    `Wrong`: the row is reported as wrong and never timed, and the run ends with exit code 1.
`row.time(ways, moved=None, copied=None)`
    ways: name -> function, or name -> (before, function) with `before` untimed. All are run in
    turns, each turn in another order. Call ours "ours" and the machine's copy "copy"; every other
    name is a peer, a reference, or ours in another setting ("ours, uniform ids"). `moved` (bytes
    that the operation has to move) and `copied` (bytes that "copy" moves) give the share of copy.
    `limits.time_with_copy(row, ways, nbytes, moved)` adds such a copy, and may put other work
    before each way. May be called again on the same row with other names.
`row.ratio(peer, ours="ours")`
    time of the peer over ours within each turn, as a `scratch_embed.lesson.timing.Spread`: above 1
    we are faster. None when the peer was not timed; a bar on None says "not measured".
`row.share()`             of the copy bandwidth, as a Spread.
`row.times["ours"]`       a `scratch_embed.lesson.timing.Times`: `.median`, `.spread`, and a / b.
`row.note(name, value)`   any other number or sentence: words a second, peak bytes, ulps.
`row.bar(what, value, at_least=..., at_most=...)`
    a verdict. value: a Spread or a number that this run measured, or None.

The shapes and ids of most benchmarks are in shapes.py, gather.py is a small one to start from. What
a row holds stands in the JSON under the same names.
"""
