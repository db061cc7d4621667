"""Pictures that answer when a control is moved: each a pure `draw(figure, **values)` with CONTROLS.

A front end (a window, a page of the book, a test) shows the controls, and calls `draw` with their
values whenever one changes. Nothing else is kept between two calls.
"""
