"""The Python that a source prints, run with the library that it is printed for.

    ran("000-ch0-torch-weight-shape", "torch", lambda torch: torch.nn.Embedding(6, 3).weight.shape)

Where the library is installed the call is made, and what came stands beside what the source says
it prints; elsewhere a sentence says what to install. No verdict rests on it, for a verdict is the
same on every machine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from scratch_embed.lesson.claims import printed as notation
from scratch_embed.lesson.claims.judging import page
from scratch_embed.lesson.claims.ledger import Claim


@dataclass(frozen=True)
class Call:
    """How one printed call went."""

    claim: Claim
    library: str  # with its version
    says: str  # what the source says that it prints
    came: str = ""  # what it printed here; empty when it was not made
    same: bool = False
    why: str = ""  # why it was not made


def ran(id: str, library: str | None, call: Callable, says: str | None = None) -> None:
    """Make a printed call, if its library is here, and keep what came.

    library : the name by which it is imported; None for Python by itself. `call` is handed the
        imported module (nothing for None) and returns what the source prints. Whatever it raises
        is what came.
    says : the print in the sizes of this call, "(2, 3, 8)", where the claim has letters for them.
    """
    claim = page().claims[id]
    says = claim.printed if says is None else says
    try:
        modules = [] if library is None else [import_module(library)]
    except ImportError:
        why = f"{library} is not installed (the extra 'peers' in setup.cfg says how)"
        page().calls.append(Call(claim, library, says, why=why))
        return
    name = " ".join([library or "Python", *(getattr(m, "__version__", "") for m in modules)])
    try:
        value = call(*modules)
        came, same = str(value), notation.agrees(value, says)
    except Exception as error:  # noqa: BLE001 - an example that stops is told, not followed
        came, same = f"{type(error).__name__}: {error}", False
    page().calls.append(Call(claim, name, says, came, same))


def left(id: str, library: str, why: str) -> None:
    """A printed call that is not made on any machine, and why."""
    claim = page().claims[id]
    page().calls.append(Call(claim, library, claim.printed, why=why))
