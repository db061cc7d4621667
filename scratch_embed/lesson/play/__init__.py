"""The front ends of the simulations. None of them knows any simulation: all of it is in its
controls, its notice and its artists.

command   python -m lessons play ...
frames    a state as text: its SVG, its numbers
page      one file for a browser, with every state in it
server    the same page from a local server, where every control is live
moving    what Play shows, as a GIF
here      the place in a lesson where one belongs
window    Matplotlib's own widgets
"""
