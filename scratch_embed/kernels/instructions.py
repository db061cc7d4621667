"""What the words of a loop (see words.py) become when it is compiled."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache


@cache
def instructions() -> dict[str, Callable]:
    """Each word, and what stands in its place in a compiled loop."""
    import numba

    made = {"prefetch": _prefetch(), "copy_row": _copy_row(), "next_part": _next_part()}
    return {"prange": numba.prange, **made}


def _prefetch():
    """The processor's prefetch instruction, as a function (array, row) for compiled loops.

    It asks for every 16th of the first 64 numbers of the row: four cache lines of float32.
    """
    from llvmlite import ir
    from numba.core import cgutils, types
    from numba.extending import intrinsic

    integer, pointer = ir.IntType(32), ir.IntType(8).as_pointer()
    instruction = ir.FunctionType(ir.VoidType(), [pointer, integer, integer, integer])
    read, keep, data = integer(0), integer(3), integer(1)  # see llvm.prefetch

    @intrinsic
    def prefetch(typing_context, array, row):
        def emit(context, builder, signature, arguments):
            kind, (array, row) = signature.args[0], arguments
            array = context.make_array(kind)(context, builder, array)
            llvm = builder.module.declare_intrinsic("llvm.prefetch", [pointer], instruction)
            for d in range(0, 64, 16):
                place = [row, context.get_constant(types.intp, d)]
                address = cgutils.get_item_pointer(context, builder, kind, array, place)
                builder.call(llvm, [builder.bitcast(address, pointer), read, keep, data])
            return context.get_dummy_value()

        return types.void(array, types.intp), emit

    return prefetch


def _copy_row():
    """The C library's memcpy, as a function (out, n, table, row): out[n] = table[row].

    It knows the best stores of the processor; ours, compiled from a loop over d, read each line of
    `out` before they write it. Rows that do not lie in one piece are copied number by number.
    """
    from numba.core import cgutils, types
    from numba.extending import intrinsic

    @intrinsic
    def copy_row(typing_context, out, n, table, row):
        def emit(context, builder, signature, arguments):
            kinds = signature.args[0], signature.args[2]
            out, table = (
                context.make_array(kind)(context, builder, array)
                for kind, array in zip(kinds, arguments[::2])
            )
            width = builder.extract_value(table.shape, 1)

            def places(d):
                for kind, array, at in zip(kinds, (out, table), arguments[1::2]):
                    yield cgutils.get_item_pointer(context, builder, kind, array, [at, d])

            if all(kind.layout == "C" for kind in kinds):
                size, align = builder.mul(width, table.itemsize), width.type(1)
                cgutils.raw_memcpy(builder, *places(width.type(0)), size, align)
            else:
                with cgutils.for_range(builder, width) as turn:
                    target, source = places(turn.index)
                    builder.store(builder.load(source), target)
            return context.get_dummy_value()

        return types.void(out, types.intp, table, types.intp), emit

    return copy_row


def _next_part():
    """The processor's instruction that reads a number of int64 and adds 1 to it, as a function."""
    from numba.core import types
    from numba.extending import intrinsic

    @intrinsic
    def next_part(typing_context, given_out):
        def emit(context, builder, signature, arguments):
            kind, one = signature.args[0], context.get_constant(types.int64, 1)
            place = context.make_array(kind)(context, builder, arguments[0]).data
            return builder.atomic_rmw("add", place, one, "monotonic")

        return types.int64(given_out), emit

    return next_part
