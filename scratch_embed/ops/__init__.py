"""Hand-written operations: one adjoint pair a file, plain functions on NumPy arrays.

Every operation is two functions side by side,

    x_forward(array, ..., option)  -> out, saved
    x_backward(dout, saved)        -> the gradient of each leading array argument, in order

where `saved` holds exactly what backward needs and nothing else. They know nothing of Tensors or
of the tape: call them by hand with the numbers of a chapter, print what was saved, or replace
one half by your own. Whole numbers become floats where an answer need not be whole (`floats`).

Letters, everywhere in the package: `V` rows of a table, `D` columns, `N` ids in a flat batch,
`B, T` batch and time, `C, H, W` channels, height, width, `P` the side of a patch.
"""
