"""Small made-up traffic in both languages, so that acceptance does not depend on outside data."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

_FACTS = [
    ("How long is the warranty of the {n} lamp?", "The {n} lamp has a warranty of {n} months."),
    ("When does shop {n} open?", "Shop {n} opens at {h} o'clock on weekdays."),
    ("{n}号产品的保修期是多久?", "{n}号产品的保修期为{n}个月,自签收之日起计算。"),
    ("{n}号网点几点开门?", "{n}号网点工作日上午{h}点开门。"),
]


def rows(count: int) -> list[dict[str, Any]]:
    """Faithful answers; every third one invents a number."""
    made = []
    for n in range(count):
        question, fact = _FACTS[n % len(_FACTS)]
        values = {"n": 10 + n, "h": 6 + n % 5}
        passage = fact.format(**values)
        answer = passage if n % 3 else fact.format(n=500 + n, h=23)
        made.append(
            {
                "id": f"row-{n}",
                "app": "shop-en" if n % 4 < 2 else "shop-zh",
                "question": question.format(**values),
                "contexts": [
                    {"id": f"doc-{n}", "content": passage, "score": 0.9},
                    {"id": "doc-x", "content": "Parcels leave the warehouse on Mondays."},
                ],
                "answer": answer,
                "knowledge_base": "support",
                "timings": {"first_byte_ms": 50, "generation_ms": 200, "end_to_end_ms": 300},
                "hits": [{"kind": "plugin", "name": "clock", "ok": bool(n % 5), "items": 1}],
                "expected": {"plugin": ["clock"]},
            }
        )
    return made


def write(path: Path, count: int) -> Path:
    """`rows` as JSONL (gzipped when the name says so)."""
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows(count))
    data = text.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path
