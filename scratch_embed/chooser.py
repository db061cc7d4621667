"""Which embedding? The few decisions in front of a new model, each with its reason.

    plan = choose("text", languages=12, params=7e9, positions="rotary")
    plan.num_embeddings, plan.tied, plan.scale        # 128000, None, 1.0
    print(plan)                                       # a line for each decision

Rules of thumb, not laws. What published models do is in `sizes.MODELS`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from scratch_embed.sizes import human, table_params

INPUTS = ("text", "images")
POSITIONS = ("sinusoidal", "learned", "rotary")
PATCHES = {"standard": 16, "fast": 32, "fine": 8}  # detail -> P, the side of a patch
ONE_LANGUAGE, MANY_LANGUAGES = 32_000, 128_000  # rows: as in Llama 2, and as in Llama 3
TIE_BELOW, UNTIE_ABOVE = 1e9, 7e9  # parameters of the whole model


@dataclass
class Plan:
    """What `choose` decided. `reasons` maps each decision to its answer and why."""

    num_embeddings: int | None = None  # V; None for images, which are projected
    tied: bool | None = None  # None: models of this size do either
    scale: float = 1.0  # factor on token rows before positions are added
    patch_size: int | None = None  # P
    num_tokens: int | None = None  # patches of one image, without CLS
    params: int = 0  # numbers in the token table, or in the patch projection (without bias)
    reasons: dict[str, tuple[str, str]] = field(default_factory=dict)

    def __str__(self) -> str:
        wide = max(map(len, self.reasons))
        return "\n".join(
            f"{name:<{wide}}  {answer}: {why}" for name, (answer, why) in self.reasons.items()
        )


def choose(
    data: str = "text",
    *,
    embedding_dim: int = 768,
    languages: int = 1,
    params: float = 1e8,
    positions: str = "rotary",
    detail: str = "standard",
    image_size: int = 224,
) -> Plan:
    """Decide on an input layer.

    data : "text" or "images".
    embedding_dim : D.
    languages : how many the text is in.
    params : numbers in the whole model.
    positions : "sinusoidal", "learned" or "rotary".
    detail : of images: "standard" (patches of 16), "fast" (32) or "fine" (8).
    image_size : side of a square image in pixels, a multiple of the patch's side.

    Raises ValueError for anything else.
    """
    for name, value, known in (
        ("data", data, INPUTS),
        ("positions", positions, POSITIONS),
        ("detail", detail, tuple(PATCHES)),
    ):
        if value not in known:
            raise ValueError(f"{name} is {value!r}; it must be one of {', '.join(known)}")
    if languages < 1 or not params > 0:
        raise ValueError(f"languages = {languages} must be at least 1, params = {params} above 0")
    if data == "images":
        return _for_images(embedding_dim, detail, image_size)
    return _for_text(embedding_dim, languages, params, positions)


def _for_text(embedding_dim: int, languages: int, params: float, positions: str) -> Plan:
    plan = Plan(num_embeddings=ONE_LANGUAGE if languages == 1 else MANY_LANGUAGES)
    plan.params = table_params(plan.num_embeddings, embedding_dim)
    plan.reasons["vocabulary"] = (
        f"V = {plan.num_embeddings:,}, {human(plan.params)} numbers",
        "enough for one language" if languages == 1 else "other scripts and words want rows too",
    )
    plan.tied = True if params < TIE_BELOW else False if params > UNTIE_ABOVE else None
    plan.reasons["tie the head"] = {
        True: ("yes", f"a second table would be {plan.params / params:.0%} of the model on top"),
        False: ("no", "the second table is cheap here; yet some models of this size tie (Gemma)"),
        None: ("either", "between 1 and 7 billion parameters models do both; measure"),
    }[plan.tied]
    fixed = positions == "sinusoidal"
    plan.scale = math.sqrt(embedding_dim) if fixed else 1.0
    plan.reasons["scale the rows"] = (
        (f"times {plan.scale:.1f}", "if they start with length 1; sines and cosines are long")
        if fixed
        else ("no", "positions are learned, or turn queries and keys; Gemma scales all the same")
    )
    return plan


def _for_images(embedding_dim: int, detail: str, image_size: int) -> Plan:
    side = PATCHES[detail]
    if image_size < side or image_size % side:
        raise ValueError(f"image_size {image_size} is not a multiple of the patch side {side}")
    plan = Plan(patch_size=side, num_tokens=(image_size // side) ** 2)
    plan.params = table_params(3 * side * side, embedding_dim)
    plan.reasons["patches"] = (
        f"{side} by {side} pixels, {plan.num_tokens} tokens",
        f"a projection of {human(plan.params)} numbers, {plan.num_tokens**2:,} scores a head",
    )
    return plan
