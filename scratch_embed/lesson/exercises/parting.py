"""What a text might be cut at that was made of its tokens, and a token may hold as well.

A wrong merge joins the tokens to one text, replaces in it and cuts it again; of a token that holds
the mark it makes two.
"""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType, FunctionType

# ASCII, the marks of tokenizers, and odd ends of Unicode.
PARTING = [chr(k) for k in range(128) if not chr(k).isalnum()]
PARTING += ["\u2581", "\u0120", "\u00b7", "\u2028", "\u241f", "\ue000", "\uffff", "\U0010ffff"]
PARTING += ["\u00a7", "\u00b6", "\u2192", "</w>", "@@", "##", "<|>", "\n\n", "\r\n"]
LONGEST = 20  # letters of a mark; a docstring is none


def marks(function: Callable) -> list[str]:
    """PARTING, and every text that stands in the file of a function, by itself and twice.

    >>> marks(lambda tokens: "<cut>".join(tokens))[-2:]
    ['<cut>', '<cut><cut>']
    """
    beside = getattr(function, "__globals__", {})
    own = [f for f in (function, *beside.values()) if isinstance(f, FunctionType)]
    texts = {text for name, text in beside.items() if isinstance(text, str) and name[:2] != "__"}
    for each in own:
        if each.__globals__ is beside:
            texts |= _texts(each.__code__)
    return [*PARTING, *(n * text for text in sorted(texts) if len(text) <= LONGEST for n in (1, 2))]


def _texts(code: CodeType) -> set[str]:
    """All texts in a function, also in the functions that it defines."""
    found = {each for each in code.co_consts if isinstance(each, str)}
    for each in code.co_consts:
        if isinstance(each, CodeType):
            found |= _texts(each)
    return found
