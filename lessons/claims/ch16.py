"""Break it: the interview page."""

from scratch_embed.lesson.claims import undecided

undecided(
    "004-break-it",
    "the page's section is lost but for its heading; lesson 22 has seven kinds of its own",
)
