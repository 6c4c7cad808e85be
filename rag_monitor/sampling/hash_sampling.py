"""The draw: a pure function of salt, trace id and probability.

Source: reference/statistics.md 3.2. 53 bits, so that the number never rounds to 1; salted, so that
it is independent of upstream samplers that use the raw bits of the trace id.
"""

from __future__ import annotations

import hashlib
import math
from typing import Final

MAX_SALT_BYTES: Final = 64
"""BLAKE2b's largest key."""


def hash_unit(salt: str, trace_id: str) -> float:
    """A number in [0, 1): the top 53 bits of BLAKE2b-64(key = salt, message = trace id)."""
    digest = hashlib.blake2b(
        trace_id.encode("utf-8", "surrogatepass"),
        digest_size=8,
        key=salt.encode("utf-8", "surrogatepass"),
    ).digest()
    return (int.from_bytes(digest, "big") >> 11) / 2**53


def is_sampled(salt: str, trace_id: str, probability: float) -> bool:
    """Whether a trace with this probability is in the sample. Probability 1 always is."""
    return hash_unit(salt, trace_id) < probability


def rounded_up(probability: float) -> float:
    """Two significant digits, upwards: few distinct probabilities, none below the floor."""
    if probability >= 1.0:
        return 1.0
    digits = 1 - math.floor(math.log10(probability))
    scale = 10.0**digits
    # The margin keeps 0.05, stored as 0.05000…03, from becoming 0.051.
    return min(1.0, round(math.ceil(probability * scale - 1e-9) / scale, digits))
