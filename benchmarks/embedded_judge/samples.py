"""Rows looked up once: features and readings of every claim, and what an encoder says of them.

What an encoder says is kept under `build/embedded_judge`, for it takes minutes and the rest
seconds.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.embedded_judge.sets import Row
from rag_monitor.judges.embedded.encoder import Encoder, EncoderLogits, Reading
from rag_monitor.judges.embedded.evidence_index import EvidenceIndex
from rag_monitor.judges.embedded.features import ClaimEvidence, look_up_all
from rag_monitor.judges.embedded.model import apply_floors
from rag_monitor.judges.embedded.packing import reading
from rag_monitor.language.claims import take_apart

Vector = NDArray[np.float64]

KEPT: Final = Path(__file__).resolve().parents[2] / "build" / "embedded_judge"
AT_ONCE: Final = 200
"""Readings between two times that what was said is written down."""


@dataclass(slots=True, eq=False)
class Sample:
    """One row with its claims looked up."""

    row: Row
    claims: list[ClaimEvidence]
    features: Vector
    readings: list[Reading | None]
    """What an encoder reads of each claim; None where it is settled or shares no word."""
    read: list[EncoderLogits | None]
    settled: list[float | None]
    """The doubt of claims whose doubt no weights decide."""
    labels: list[str]
    """What people say of each claim: supported, unsupported, contradicted or none; empty where
    they only told of the answer."""


def sample(row: Row) -> Sample | None:
    """A row looked up; None when it states nothing."""
    spans = take_apart(row.answer).claims
    if not spans:
        return None
    evidence = EvidenceIndex.build(row.contexts, row.question)
    claims = look_up_all(spans, evidence)
    settled = [apply_floors(claim, 0.0) for claim in claims]
    pairs = [
        None if reason else reading(claim.segment, evidence)
        for claim, (_, reason) in zip(claims, settled, strict=True)
    ]
    return Sample(
        row,
        claims,
        np.array([claim.features for claim in claims]),
        [pair if pair and pair[1] else None for pair in pairs],
        [None] * len(claims),
        [doubt if reason else None for doubt, reason in settled],
        [_label(row, claim.span.start, claim.span.end) for claim in claims]
        if row.sentences
        else [],
    )


def samples(rows: Sequence[Row]) -> list[Sample]:
    """Every row that states something."""
    return [found for found in map(sample, rows) if found is not None]


def _label(row: Row, start: int, end: int) -> str:
    """The label of the sentence that holds most of a claim."""
    return max(row.sentences, key=lambda s: min(end, s[1]) - max(start, s[0]))[2]


def ask(found: Sequence[Sample], encoder: Encoder) -> None:
    """Let an encoder read every claim, as far as it did not before."""
    path = KEPT / f"{encoder.version}.json"
    said: dict[str, list[float]] = json.loads(path.read_text()) if path.exists() else {}
    wanted = {_key(pair): pair for one in found for pair in one.readings if pair}
    left = [key for key in wanted if key not in said]
    path.parent.mkdir(parents=True, exist_ok=True)
    for start in range(0, len(left), AT_ONCE):
        keys = left[start : start + AT_ONCE]
        for key, doubts in zip(keys, encoder.logits([wanted[k] for k in keys]), strict=True):
            said[key] = [round(value, 4) for value in doubts]
        path.write_text(json.dumps(said))
        print(f"read {start + len(keys)} of {len(left)}", file=sys.stderr, flush=True)
    for one in found:
        one.read = [
            (said[_key(pair)][0], said[_key(pair)][1]) if pair else None for pair in one.readings
        ]


def _key(pair: Reading) -> str:
    return hashlib.sha256("\0".join(pair).encode("utf-8", "replace")).hexdigest()[:24]
