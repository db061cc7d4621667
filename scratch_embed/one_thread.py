"""One thread for the library behind NumPy's matrix products: programs import it before NumPy.

A sum that is cut in two comes out with other last bits, and a training makes of these, in a few
hundred steps, another loss: a run would not be the same on another number of cores, nor one that
was resumed there. And for products as small as those of the lessons a second thread costs more
than it saves. Who sets one of these variables is obeyed.
"""

from __future__ import annotations

import os

for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
    os.environ.setdefault(name, "1")
