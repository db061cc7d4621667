"""RowGrad: the gradient of a table that names only the rows it touches."""

from __future__ import annotations

from typing import Self

import numpy as np

from scratch_embed import kernels
from scratch_embed.arguments import array_of, check_unmasked, is_real, is_whole
from scratch_embed.kernels import tables
from scratch_embed.kernels.ids import check_ids
from scratch_embed.look import page


class RowGrad:
    """A (V, D) gradient stored as the rows that are not zero.

    A batch of N ids touches at most N of the V rows, so a dense gradient is almost all zeros:
    at V = 50,257 and D = 768 in float32 it is 154 MB, of which 8 ids fill 25 kB.

    Attributes
    ----------
    rows : (U,) int64, sorted, each row once
    values : (U, D), values[u] is the gradient of row rows[u]
    shape : (V, D) of the table

    The constructor takes rows in any order and any number of times, and sums the values of equal
    rows in the order given.

    >>> grad = RowGrad([4, 1, 4], np.array([[1.0, 1.0], [2.0, 2.0], [10.0, 10.0]]), (6, 2))
    >>> grad
    RowGrad: 2 of 6 rows, 2 columns
      row 1  [2., 2.]
      row 4  [11., 11.]
    """

    def __init__(self, rows: np.ndarray, values: np.ndarray, shape: tuple[int, int]):
        if len(shape) != 2:
            raise ValueError(f"shape is {tuple(shape)}; a table has two axes, (V, D)")
        rows = check_ids(rows, shape[0], "rows")
        values = array_of(values, "values")
        if rows.ndim != 1 or values.shape != (len(rows), shape[1]):
            raise ValueError(
                f"rows {rows.shape} and values {values.shape} do not fit a table {tuple(shape)}: "
                f"values must be (number of rows, {shape[1]})"
            )
        self.shape = (int(shape[0]), int(shape[1]))
        self._held = values, kernels.group_rows(rows, shape[0]), False
        self._sum()

    @classmethod
    def of_batch(cls, ids: np.ndarray, values: np.ndarray, shape: tuple[int, int]) -> RowGrad:
        """The same, but equal rows are summed when `values` is first asked for.

        An optimiser that sums a row while it takes its step never asks. ids (N,) are checked, and
        values (N, D) belong to the RowGrad from here on: nobody writes to them any more.
        """
        grad = cls.__new__(cls)
        grad.shape = shape
        grad._held = values, kernels.group_rows(ids, shape[0]), False
        return grad

    def _sum(self) -> tuple[np.ndarray, kernels.Groups]:
        """Values and groups, a value a row. Both change at once: two threads may ask at a time."""
        values, groups, summed = self._held
        if not summed:
            u = len(groups.rows)
            values = kernels.sum_groups(values, groups)
            groups = kernels.Groups(groups.rows, np.arange(u), np.arange(u + 1))
            self._held = values, groups, True
        return values, groups

    @property
    def rows(self) -> np.ndarray:
        rows = self._held[1].rows.view()
        rows.flags.writeable = False  # an optimiser's loop goes by them without another look
        return rows

    @property
    def values(self) -> np.ndarray:
        return self._sum()[0]

    @values.setter  # so that grad.values *= 0.5 is what it says
    def values(self, values: np.ndarray) -> None:
        kept, groups = self._sum()
        values = array_of(values, "values")
        if values.shape != kept.shape or values.dtype != kept.dtype:
            raise ValueError(
                f"values {values.shape} of {values.dtype} do not fit this RowGrad, which has "
                f"{kept.shape} of {kept.dtype}; make a new one, RowGrad(rows, values, shape)"
            )
        self._held = values, groups, True

    def grouped(self) -> tuple[np.ndarray, kernels.Groups]:
        """(values, groups): values[u] is the sum of the values of group u, maybe not taken yet.

        A group that wants more precision than a running sum has (see `tables.LONG`) is summed.
        """
        values, groups, summed = self._held
        if not summed and np.diff(groups.starts).max(initial=0) > tables.LONG:
            values, groups = self._sum()
        return np.ascontiguousarray(values), groups

    @property
    def dtype(self) -> np.dtype:
        return self._held[0].dtype

    @property
    def nbytes(self) -> int:
        """Bytes held, against `V * D * itemsize` for the dense gradient."""
        return self.rows.nbytes + self.values.nbytes

    def astype(self, dtype, copy: bool = True) -> RowGrad:
        if not copy and self.dtype == dtype:
            return self
        return RowGrad(self.rows, self.values.astype(dtype), self.shape)

    def to_dense(self) -> np.ndarray:
        """The same gradient as a (V, D) array."""
        return self.add_to(np.zeros(self.shape, self.dtype))

    def add_to(self, dense: np.ndarray) -> np.ndarray:
        """Add into a dense (V, D) array in place, and return it."""
        if dense.shape != self.shape:
            raise ValueError(f"a RowGrad of {self.shape} cannot be added to {dense.shape}")
        dense[self.rows] += self.values  # rows are distinct, so nothing is lost
        return dense

    def __add__(self, other: RowGrad | np.ndarray) -> RowGrad | np.ndarray:
        """RowGrad + RowGrad stays a RowGrad; RowGrad + dense is dense. 0, where sum begins, adds
        nothing."""
        if isinstance(other, int) and other == 0:
            return self * 1  # another one, which += may change
        if not isinstance(other, RowGrad):
            return self.add_to(self._as_floats(other))
        if other.shape != self.shape:
            raise ValueError(f"RowGrads of {self.shape} and {other.shape} cannot be added")
        rows = np.concatenate([self.rows, other.rows])
        return RowGrad(rows, np.concatenate([self.values, other.values]), self.shape)

    __radd__ = __add__

    def _as_floats(self, other) -> np.ndarray:
        """A dense array of one's own, of the dtype that a sum with it has."""
        check_unmasked(other, "array")
        return np.array(other, dtype=np.result_type(other, self.values))

    def __mul__(self, number: float) -> RowGrad:
        """Every row times a number, and / likewise."""
        if not is_real(number):
            return NotImplemented
        return RowGrad(self.rows, self.values * float(number), self.shape)

    __rmul__ = __mul__

    def __truediv__(self, number: float) -> RowGrad:
        if not is_real(number):
            return NotImplemented
        return RowGrad(self.rows, self.values / float(number), self.shape)

    def __neg__(self) -> RowGrad:
        return self * -1

    def __sub__(self, other: RowGrad | np.ndarray) -> RowGrad | np.ndarray:
        """RowGrad - RowGrad stays a RowGrad; with a dense array on either side it is dense."""
        if isinstance(other, (RowGrad, int)):
            return self + -other
        return self.add_to(-self._as_floats(other))  # whole numbers without a sign have no minus

    def __rsub__(self, other: np.ndarray) -> np.ndarray:
        return -self + other

    def _becomes(self, other: RowGrad | np.ndarray) -> RowGrad:
        """This very RowGrad with what another, or a dense array, holds: so grad *= 0.5, under
        whatever name, is what it is of an array."""
        if not isinstance(other, RowGrad):
            other = RowGrad(np.arange(self.shape[0]), other, self.shape)
        self._held = other.astype(self.dtype, copy=False)._held
        return self

    def __imul__(self, other: float | np.ndarray) -> Self:
        return self._becomes(self * other)

    def __itruediv__(self, number: float) -> Self:
        return self._becomes(self / number)

    def __iadd__(self, other: RowGrad | np.ndarray) -> Self:
        return self._becomes(self + other)

    def __isub__(self, other: RowGrad | np.ndarray) -> Self:
        return self._becomes(self - other)

    def __eq__(self, other):
        """Number by number, as of two arrays."""
        if not isinstance(other, (RowGrad, np.ndarray, list, tuple)) and not is_real(other):
            return NotImplemented
        return self.to_dense() == np.asarray(other)

    def __ne__(self, other):
        return np.logical_not(self == other)

    __hash__ = object.__hash__  # it is found in a dict as itself, whatever its numbers

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        return self.to_dense().astype(dtype or self.dtype, copy=False)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs, **options):
        """NumPy's functions take the dense gradient; so table -= 0.1 * grad is what it says.

        array * grad, array + grad and array - grad are what they are with grad on the left.
        """
        if any(isinstance(each, RowGrad) for each in options.get("out", ())):
            raise TypeError("out is a RowGrad, which holds only some rows: give an array")
        mirrored = {np.multiply: "__rmul__", np.add: "__radd__", np.subtract: "__rsub__"}
        if method == "__call__" and ufunc in mirrored and self is inputs[1] and not options:
            answer = getattr(self, mirrored[ufunc])(inputs[0])
            if answer is not NotImplemented:
                return answer
        dense = [np.asarray(each) if isinstance(each, RowGrad) else each for each in inputs]
        return getattr(ufunc, method)(*dense, **options)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, place):
        """grad[row], or what else an array lets between the brackets: to read, not to write."""
        if is_whole(place):
            return _read_only(self._row(int(place)))  # a dense gradient may be too large
        return _read_only(self.to_dense())[place]

    def _row(self, row: int) -> np.ndarray:
        if not -len(self) <= row < len(self):
            raise IndexError(f"row {row} is outside a table of {len(self):,} rows")
        return self.values[self.rows == row % len(self)].sum(axis=0)  # of the one, or of none

    def __getattr__(self, name: str):
        if name in ("fill", "sort", "put", "partition", "resize"):  # a dense copy is thrown away
            raise AttributeError(f"a RowGrad has no {name}: write to grad.values, of grad.rows")
        if hasattr(np.ndarray, name) and not name.startswith("_"):
            raise AttributeError(f"a RowGrad has no {name}: write grad.to_dense().{name}")
        raise AttributeError(f"'RowGrad' object has no attribute {name!r}")

    def _counts(self) -> str:
        return f"RowGrad: {len(self.rows):,} of {self.shape[0]:,} rows, {self.shape[1]:,} columns"

    def __repr__(self) -> str:
        shown = list(range(len(self.rows)))
        if len(shown) > 8:
            shown = [*shown[:4], None, *shown[-3:]]
        width = len(str(self.rows[-1])) if len(self.rows) else 0
        lines = [self._counts()]
        for u in shown:
            if u is None:
                lines.append("  ...")
                continue
            numbers = np.array2string(self.values[u], separator=", ", threshold=8, precision=4)
            lines.append(f"  row {self.rows[u]:<{width}}  {' '.join(numbers.split())}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """What Jupyter shows: the rows that it names, under their numbers."""
        return page.array(self.values, self._counts(), [f"row {row}" for row in self.rows])


def _read_only(array: np.ndarray) -> np.ndarray:
    """What is written there would change no RowGrad."""
    array.flags.writeable = False
    return array
