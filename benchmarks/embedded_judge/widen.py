"""Give a restored encoder more word pieces and places of the base that it was cut from.

Usage: `python -m benchmarks.embedded_judge.widen PACKED_FILE RESTORED_FOLDER PAIRS_FILE OUT_FOLDER
[--pieces N]`

An encoder's embeddings are never learnt here, so that rows left out when it was cut
(`multilingual_base`) can be taken from PACKED_FILE again: the pieces that the pairs of PAIRS_FILE
use most and that it does not know yet, and places up to `POSITIONS`.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Final

import numpy as np
from safetensors.numpy import load_file, save_file

from benchmarks.embedded_judge.multilingual_base import tokenizer_of, unpack

POSITIONS: Final = 256
WORDS: Final = "encoder.embeddings.word_embeddings.weight"
PLACES: Final = "encoder.embeddings.position_embeddings.weight"


def main() -> None:
    """Count the pieces, take the rows, write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("packed", type=Path)
    parser.add_argument("restored", type=Path)
    parser.add_argument("pairs", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--pieces", type=int, default=32_000)
    given = parser.parse_args()
    packed = unpack(given.packed)
    whole = tokenizer_of(packed.segments)
    seen: Counter[int] = Counter()
    texts: dict[str, None] = {}
    for line in given.pairs.read_text(encoding="utf-8").splitlines():
        pair = json.loads(line)
        texts.update({pair["claim"]: None, pair["evidence"]: None})
    for text in texts:
        seen.update(whole.encode(text, add_special_tokens=False).ids)
    held = json.loads((given.restored / "tokenizer.json").read_text(encoding="utf-8"))
    ids = {text: number for number, (text, _) in enumerate(packed.segments)}
    kept = {ids[text] for text, _ in held["model"]["vocab"]}
    before = len(kept)
    for number in sorted(seen, key=lambda number: (-seen[number], number)):
        if len(kept) >= given.segments:
            break
        kept.add(number)
    places = sorted(kept)
    weights = load_file(given.restored / "model.safetensors")
    weights[WORDS] = np.ascontiguousarray(packed.tensors["emb.word"][places])
    weights[PLACES] = np.ascontiguousarray(packed.tensors["emb.pos"][:POSITIONS])
    given.out.mkdir(parents=True, exist_ok=True)
    save_file(weights, given.out / "model.safetensors")
    config = json.loads((given.restored / "config.json").read_text(encoding="utf-8"))
    config |= {"vocab_size": len(places), "max_position_embeddings": POSITIONS}
    (given.out / "config.json").write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")
    tokenizer_of([packed.segments[n] for n in places]).save(str(given.out / "tokenizer.json"))
    print(json.dumps({"pieces": len(places), "before": before}))


if __name__ == "__main__":
    main()
