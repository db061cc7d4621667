"""PARTING: what a text might be cut at that was made of its tokens, and a token may hold as well.

A wrong merge joins the tokens to one text, replaces in it and cuts it again; of a token that holds
the mark it makes two. These are ASCII, the marks of tokenizers, and odd ends of Unicode.
"""

PARTING = [chr(k) for k in range(128) if not chr(k).isalnum()]
PARTING += ["\u2581", "\u0120", "\u00b7", "\u2028", "\u241f", "\ue000", "\uffff", "\U0010ffff"]
PARTING += ["\u00a7", "\u00b6", "\u2192", "</w>", "@@", "##", "<|>", "\n\n", "\r\n"]
