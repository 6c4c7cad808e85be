"""Sums per bucket as text, which is shorter and read faster than the same numbers as JSON.

`name=payload;name=payload`, the payload in base64: 64 floats of 32 bits, little-endian; or, where
most are 0, as in the row of a minute, a byte for the bucket and a float for each that is not.
Texts of several rows are joined by commas, and added up when they are read.
"""

from __future__ import annotations

import operator
import struct
from base64 import b64encode
from binascii import a2b_base64
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from rag_monitor.domain.bucket_sums import BucketSums
from rag_monitor.domain.rollup import CLUSTER_BUCKETS

_DENSE: Final = struct.Struct(f"<{CLUSTER_BUCKETS}f")
_ONE: Final = struct.Struct("<Bf")


def dump_buckets(sums: Mapping[str, Sequence[float]]) -> str:
    """The sums of one rollup; empty where there are none."""
    return ";".join(
        f"{name}={b64encode(_packed(values)).decode()}" for name, values in sums.items()
    )


def load_buckets(text: str | None) -> Mapping[str, Sequence[float]]:
    """The sums of the rollups whose texts these are, added up when they are looked at."""
    return BucketSums(partial(_sums_in, text)) if text else {}


def _sums_in(text: str) -> dict[str, Sequence[float]]:
    sums: dict[str, list[float]] = {}
    for item in text.replace(",", ";").split(";"):
        name, _, payload = item.partition("=")
        if name:
            mine = sums.get(name)
            packed = a2b_base64(payload)
            if len(packed) != _DENSE.size:
                if mine is None:
                    mine = sums[name] = [0.0] * CLUSTER_BUCKETS
                for bucket, value in _ONE.iter_unpack(packed):
                    mine[bucket] += value
            elif mine is None:
                sums[name] = list(_DENSE.unpack(packed))
            else:
                sums[name] = list(map(operator.add, mine, _DENSE.unpack(packed)))
    return dict(sums)


def _packed(values: Sequence[float]) -> bytes:
    some = [(bucket, value) for bucket, value in enumerate(values) if value]
    if len(some) * _ONE.size < _DENSE.size:
        return b"".join(_ONE.pack(bucket, value) for bucket, value in some)
    return _DENSE.pack(*values)
