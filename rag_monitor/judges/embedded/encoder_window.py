"""Which claims of a trace the encoder reads: the least certain ones that fit its window."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rag_monitor.judges.embedded.evidence_index import EvidenceIndex
from rag_monitor.judges.embedded.features import ClaimEvidence
from rag_monitor.judges.embedded.model import EncoderLogits, Model
from rag_monitor.judges.embedded.packing import reading

if TYPE_CHECKING:
    from rag_monitor.judges.embedded.encoder import Encoder, Reading


def read_uncertain(
    claims: Sequence[tuple[ClaimEvidence, EvidenceIndex]],
    model: Model,
    encoder: Encoder,
    window: int,
) -> dict[int, EncoderLogits]:
    """What the encoder says of each claim that it read, by the number of the claim.

    Args:
        claims: Each with the passages it was looked up in.
        model: Tells how certain a claim is.
        encoder: Reads.
        window: Tokens that it reads at most.
    """
    chosen = dict(_readings(claims, model, encoder, window))
    logits = encoder.logits(list(chosen.values())) if chosen else []
    return dict(zip(chosen, logits, strict=True))


def _readings(
    claims: Sequence[tuple[ClaimEvidence, EvidenceIndex]],
    model: Model,
    encoder: Encoder,
    window: int,
) -> Iterator[tuple[int, Reading]]:
    numbers = [
        number
        for number, (claim, _) in enumerate(claims)
        if any(model.weights(claim.span.text).read)
        and not (claim.verbatim or claim.segment.addressed)  # decided without it
    ]
    pairs = {number: reading(claims[number][0].segment, claims[number][1]) for number in numbers}
    numbers = [number for number in numbers if pairs[number][1]]
    sizes = dict(zip(pairs, encoder.sizes(list(pairs.values())), strict=True))
    numbers.sort(key=lambda n: abs(model.claim(claims[n][0]).logit_unsupported))
    for number in numbers:
        if sizes[number] <= window:
            window -= sizes[number]
            yield number, pairs[number]
