"""The course as notebooks, and as a web book.

Every script is run once, piece by piece, and what the pieces show is kept (see `running`). From
that are made

    build/notebooks/    a notebook beside each lesson and lab           make notebooks
    build/book/         the web book: lessons, labs, claims, exercises   make book

The first needs nothing but the package; the second what setup.cfg lists under `book`.
"""
