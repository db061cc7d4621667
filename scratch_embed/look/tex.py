r"""TeX mathematics as one line of Unicode: `E \in \mathbb{R}^{V \times D}` becomes E ∈ ℝ^(V×D).

A reading aid for terminals, not a typesetter: what it does not know it leaves readable.
"""

from __future__ import annotations

import re

SYMBOLS = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "varepsilon": "ε",
    "zeta": "ζ", "eta": "η", "theta": "θ", "iota": "ι", "kappa": "κ", "lambda": "λ", "mu": "μ",
    "nu": "ν", "xi": "ξ", "pi": "π", "rho": "ρ", "sigma": "σ", "tau": "τ", "phi": "φ",
    "varphi": "φ", "chi": "χ", "psi": "ψ", "omega": "ω", "Gamma": "Γ", "Delta": "Δ", "Theta": "Θ",
    "Lambda": "Λ", "Sigma": "Σ", "Phi": "Φ", "Psi": "Ψ", "Omega": "Ω", "Pi": "Π", "ell": "ℓ",
    "in": " ∈ ", "notin": " ∉ ", "subset": " ⊂ ", "cup": " ∪ ", "cap": " ∩ ", "times": " × ",
    "cdot": "·", "cdots": "⋯", "ldots": "…", "dots": "…", "odot": " ⊙ ", "oplus": " ⊕ ",
    "otimes": " ⊗ ", "pm": " ± ", "div": " / ", "le": " ≤ ", "leq": " ≤ ", "ge": " ≥ ",
    "geq": " ≥ ", "ne": " ≠ ", "neq": " ≠ ", "approx": " ≈ ", "sim": " ~ ", "equiv": " ≡ ",
    "propto": " ∝ ", "ll": " ≪ ", "gg": " ≫ ", "to": " → ", "rightarrow": " → ", "mapsto": " ↦ ",
    "leftarrow": " ← ", "gets": " ← ", "Rightarrow": " ⇒ ", "iff": " ⇔ ", "sum": "Σ", "prod": "Π",
    "int": "∫", "partial": "∂", "nabla": "∇", "infty": "∞", "top": "ᵀ", "intercal": "ᵀ",
    "prime": "′", "ast": "*", "star": "*", "circ": "∘", "langle": "⟨", "rangle": "⟩",
    "lVert": "‖", "rVert": "‖", "Vert": "‖", "|": "‖", "lvert": "|", "rvert": "|", "vert": "|",
    "mid": " | ", "lfloor": "⌊", "rfloor": "⌋", "lceil": "⌈", "rceil": "⌉", "forall": "∀",
    "exists": "∃", "quad": "  ", "qquad": "   ", ",": " ", ";": " ", ":": " ", "!": "", " ": " ",
    "{": "{", "}": "}", "%": "%", "_": "_", "$": "$", "#": "#", "&": "&",
}  # fmt: skip
BOARD = {"R": "ℝ", "N": "ℕ", "Z": "ℤ", "E": "𝔼", "C": "ℂ", "Q": "ℚ", "1": "𝟙"}
ACCENTS = {"hat": "\u0302", "bar": "\u0304", "tilde": "\u0303", "vec": "\u20d7", "dot": "\u0307",
           "widehat": "\u0302", "overline": "\u0304", "widetilde": "\u0303"}  # fmt: skip
SUPER = dict(zip("0123456789+-=()nijkTtx′*", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱʲᵏᵀᵗˣ′*")) | {"ᵀ": "ᵀ", "d": "ᵈ"}
SUB = dict(zip("0123456789+-=()aehijklmnoprstuvx", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ"))
OPENING = {"partial", "lVert", "lvert", "langle", "lfloor", "lceil", "nabla"}
CLOSING = {"rVert", "rvert", "rangle", "rfloor", "rceil"}
SILENT = {"left", "right", "big", "Big", "bigl", "bigr", "Bigl", "Bigr", "displaystyle", "limits",
          "textstyle", "nonumber"}  # fmt: skip
WORDS = {"log", "ln", "exp", "max", "min", "argmax", "sin", "cos", "tanh", "dim", "det", "Pr",
         "lim"}  # fmt: skip
STYLES = {"text", "mathrm", "operatorname", "mathbf", "boldsymbol", "mathit", "mathcal", "mathsf",
          "texttt", "textbf", "mathtt", "bm", "textit"}  # fmt: skip
MARKS = "₀-₉₊₋ₐ-ₜᵢ-ᵥⱼ⁰-ⁿᵀ\u0300-\u036f"  # above and below a letter
ONE = re.compile(rf"[\d.,]+|\w[{MARKS}]*")  # what a root is taken of without brackets
TOKEN = re.compile(r"\\[A-Za-z]+\*?|\\.|[{}^_&~]|\s+|[^\\{}^_&~\s]", re.DOTALL)


def to_unicode(tex: str) -> str:
    r"""One line of text for a TeX formula.

    >>> to_unicode(r"\frac{\partial L}{\partial E_{ij}} = \sum_n \mathbf{1}[i_n = i]\, g_{nj}")
    '∂L/∂Eᵢⱼ = Σₙ 1[iₙ = i] gₙⱼ'
    """
    tex = re.sub(r"\\(begin|end)\{[^}]*\}", " ", tex).replace("\\\\", " ; ")
    tokens = TOKEN.findall(tex)
    tokens.reverse()  # taken from the end, as from a stack
    text = _sequence(tokens, until=None)
    text = re.sub(r"\s+", " ", re.sub(r"\s*\x08", "", text)).strip()
    return re.sub(r"([(\[]) | (?=[)\],])", lambda m: m[1] or "", text)


def _sequence(tokens: list[str], until: str | None) -> str:
    pieces: list[str] = []
    while tokens:
        token = tokens.pop()
        if token == until:
            break
        if token in "^_":
            _script(pieces, token, tokens)
        else:
            pieces.append(_piece(token, tokens))
    return "".join(pieces)


def _piece(token: str, tokens: list[str]) -> str:
    if token == "{":
        return _sequence(tokens, until="}")
    if token[0] != "\\":
        return " " if token in "&~" or token.isspace() else token
    name = token[1:].rstrip("*")
    if name in SILENT:
        if tokens and tokens[-1] == "." and name in ("left", "right"):
            tokens.pop()
        return ""
    if name in ("frac", "tfrac", "dfrac"):
        above, below = _grouped(_argument(tokens), "+-/ "), _grouped(_argument(tokens), "+-/·× ")
        below = f"({below})" if re.match(r"\d+[^\W\d]", below) else below  # 1/(2σ)
        return f"({above}/{below})" if _multiplied(tokens) else f"{above}/{below}"
    if name == "sqrt":
        root = _argument(tokens).strip()
        return f"√{root}" if ONE.fullmatch(root) else f"√({root})"
    if name == "mathbb":
        return "".join(BOARD.get(letter, letter) for letter in _argument(tokens))
    if name in ACCENTS:
        return _argument(tokens) + ACCENTS[name]
    if name in STYLES:
        return _argument(tokens)
    if name in WORDS:
        return f"{name} " if tokens and tokens[-1][0] not in "([{^_ " else name
    if name in OPENING:
        while tokens and tokens[-1].isspace():
            tokens.pop()
    return ("\b" if name in CLOSING else "") + SYMBOLS.get(name, name)  # \b eats spaces before it


def _argument(tokens: list[str]) -> str:
    while tokens and tokens[-1].isspace():
        tokens.pop()
    return _piece(tokens.pop(), tokens) if tokens else ""


def _grouped(text: str, breakers: str) -> str:
    """The text, in brackets where it would otherwise be misread."""
    text = text.strip()
    return f"({text})" if any(c in breakers for c in text) else text


def _multiplied(tokens: list[str]) -> bool:
    """Whether what comes next would be read as part of a denominator: a letter, a bracket, a
    power."""
    following = (t for t in reversed(tokens) if t[0] != "\\" or t[1:] not in SILENT)
    token = next(following, " ")
    if token[0] == "\\":
        name = token[1:]
        token = SYMBOLS.get(name, "x" if name in {"frac", "sqrt", "mathbb"} | STYLES else " ")
    return token[:1].isalnum() or token[:1] in "([{^Σ∂"


def _script(pieces: list[str], mark: str, tokens: list[str]) -> None:
    text = _argument(tokens).strip()
    text = re.sub(r"\s*×\s*", "×", text)
    letters = SUPER if mark == "^" else SUB
    compact = text.replace(" ", "")
    while pieces and pieces[-1].isspace():
        pieces.pop()
    if compact and all(letter in letters for letter in compact):
        pieces.append("".join(letters[letter] for letter in compact))
    else:
        pieces.append(
            mark + (text if len(text) == 1 else f"({text})" if mark == "^" else _low(text))
        )


def _low(text: str) -> str:
    return text if text.isalnum() else f"({text})"
