"""What a backward is lent: it may read dout and what forward saved, and write to neither."""

from __future__ import annotations

RULE = (
    "a backward only borrows dout, and may not write again to what it has handed back. Write to a "
    "copy, as in dout = 2 * dout"
)
REFUSED = ("output array is read-only", "assignment destination is read-only")  # by NumPy


def written_to(where: str) -> RuntimeError:
    """The error for a gradient that is no longer what was handed to `where`."""
    return RuntimeError(f"the gradient that was handed to {where} has been written to: {RULE}")


def lent(node, dout, **needs):
    """What the backward of a node answers to dout.

    Raises ValueError where it writes to what NumPy does not let it write to: the gradient of a
    sum is one number that all places share.
    """
    try:
        return node.backward(dout, node.saved, **needs)
    except ValueError as error:
        if str(error) not in REFUSED:
            raise
        told = f"backward of {node.name} writes to a read-only array: {RULE}"
        raise ValueError(told) from error
