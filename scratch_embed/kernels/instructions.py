"""What the words of a loop (see words.py) become when it is compiled."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

LONG_ROW = 1 << 11  # bytes: from here on memcpy was faster, in a cache or not


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
    """A function (out, n, table, row) for out[n] = table[row]: the C library's memcpy where a row
    has LONG_ROW bytes or more, a loop over d where it has fewer or does not lie in one piece.

    memcpy knows stores that do not read each line of `out` before they write it. To call it takes
    a few nanoseconds, which a short row that lies in a cache feels.
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

            size, whole = builder.mul(width, table.itemsize), all(k.layout == "C" for k in kinds)
            least = width.type(LONG_ROW if whole else -1)  # read unsigned: no row is so long
            with builder.if_else(builder.icmp_unsigned(">=", size, least)) as (long, short):
                with long:
                    cgutils.raw_memcpy(builder, *places(width.type(0)), size, width.type(1))
                with short, cgutils.for_range(builder, width) as turn:
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
