"""An encoder as a second opinion on each claim: an ONNX file run by onnxruntime, without torch.

A folder holds `model.onnx`, `tokenizer.json` (of the `tokenizers` library) and `encoder.json`:

    {"format": 1, "reads": "pairs", "longest": 160}

`reads` is `pairs` for a cross encoder (claim and evidence in one window) or `texts` for an
embedding model (bge-m3 ...). Of `pairs` the first output is log-odds of doubt, one a row, or logits
of several classes with `entailment` naming the supporting one (mDeBERTa and other NLI models). Of
`texts` it is one vector a row, or one a token with `pooling` `mean` or `cls`; doubt is minus the
cosine of claim and evidence, less `centre`, times `scale`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Final, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter, ValidationError

from rag_monitor.errors import ConfigurationError

FORMAT: Final = 1
LIMIT: Final = 8.0
"""Log-odds of doubt of one claim are kept within this."""
_BATCH_TOKENS: Final = 4096
"""Tokens of one call, padding included; short rows go together."""
_MASKED: Final = 1e-9

Floats = NDArray[np.float32]
Reading = tuple[str, str]
"""A claim (with its question where it is short) and the evidence packed for it."""


class Encoder(Protocol):
    """Tells how doubtful claims are given their evidence."""

    @property
    def version(self) -> str:
        """Changes with everything that decides a number."""
        ...

    def sizes(self, readings: Sequence[Reading]) -> list[int]:
        """Tokens each reading takes."""
        ...

    def doubts(self, readings: Sequence[Reading]) -> list[float]:
        """Log-odds that the evidence does not support the claim, one each, -8 to 8."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderSpec:
    """What `encoder.json` says."""

    format: Literal[1]
    reads: Literal["pairs", "texts"]
    longest: int = 160
    """Tokens of claim and evidence together; the longer of the two is cut first."""
    entailment: int | None = None
    """Which of several outputs means "supported"."""
    pooling: Literal["mean", "cls"] | None = None
    centre: float = 0.6
    scale: float = 10.0
    title: str = ""
    """For people: which model this is."""


@cache
def shipped_encoder(threads: int) -> OnnxEncoder:
    """The encoder in the package; one for all judges of a process.

    Raises:
        ConfigurationError: onnxruntime is not installed, or cannot run here.
    """
    return load_encoder(Path(str(resources.files(__package__) / "shipped")), threads)


def load_encoder(folder: Path, threads: int) -> OnnxEncoder:
    """The encoder in a folder.

    Raises:
        ConfigurationError: A file is missing or cannot be used, or onnxruntime is not installed.
    """
    try:
        spec = TypeAdapter(EncoderSpec).validate_json((folder / "encoder.json").read_bytes())
        return OnnxEncoder(folder, spec, threads)
    except OSError as error:
        raise ConfigurationError(f"encoder {folder}: {error.filename}: {error.strerror}") from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise ConfigurationError(
            f"encoder {folder}: encoder.json {first['loc']}: {first['msg']}"
        ) from None
    except ImportError as error:
        raise ConfigurationError(
            f"encoder {folder} needs {error.name or error}; install rag-monitor[server],"
            " or judge by words alone with the judge embedded-lexical"
        ) from None


class OnnxEncoder:
    """An ONNX file. Thread-safe: a session may be run from several threads."""

    def __init__(self, folder: Path, spec: EncoderSpec, threads: int) -> None:
        from tokenizers import Tokenizer

        packed = (folder / "model.onnx").read_bytes()
        vocabulary = (folder / "tokenizer.json").read_bytes()
        self._spec = spec
        self._tokenizer = Tokenizer.from_buffer(vocabulary)
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(spec.longest, strategy="longest_first")
        self._session = _session(packed, threads, folder)
        self._wanted = [value.name for value in self._session.get_inputs()]
        unknown = set(self._wanted) - {"input_ids", "attention_mask", "token_type_ids"}
        if unknown:
            raise ConfigurationError(f"encoder {folder}: model.onnx asks for {sorted(unknown)}")
        told = json.dumps({name: getattr(spec, name) for name in EncoderSpec.__slots__})
        self.version = hashlib.sha256(packed + vocabulary + told.encode()).hexdigest()[:12]

    def sizes(self, readings: Sequence[Reading]) -> list[int]:
        """Tokens each reading takes."""
        return [len(encoding.ids) for encoding in self._encode(readings)]

    def doubts(self, readings: Sequence[Reading]) -> list[float]:
        """Log-odds of doubt, one each."""
        if self._spec.reads == "pairs":
            found = self._run([self._tokenizer.encode(*pair) for pair in readings], self._of_pairs)
        else:
            texts = sorted({text for reading in readings for text in reading})
            vectors = self._run([self._tokenizer.encode(text) for text in texts], self._of_texts)
            by_text = dict(zip(texts, vectors, strict=True))
            cosines = [float(by_text[claim] @ by_text[evidence]) for claim, evidence in readings]
            found = [self._spec.scale * (self._spec.centre - cosine) for cosine in cosines]
        return [min(LIMIT, max(-LIMIT, float(value))) for value in found]

    def _encode(self, readings: Sequence[Reading]) -> list[Any]:
        if self._spec.reads == "pairs":
            return [self._tokenizer.encode(*pair) for pair in readings]
        return [self._tokenizer.encode(" ".join(pair)) for pair in readings]

    def _run(self, encodings: Sequence[Any], read: Any) -> list[Any]:
        """Run in batches of like lengths; results in the order given."""
        order = sorted(range(len(encodings)), key=lambda i: len(encodings[i].ids))
        found: list[Any] = [None] * len(encodings)
        while order:
            width = 0
            batch: list[int] = []
            while order:
                width = max(width, len(encodings[order[-1]].ids))
                if batch and width * (len(batch) + 1) > _BATCH_TOKENS:
                    break
                batch.append(order.pop())
            mask, fed = self._fed([encodings[i] for i in batch], width)
            [output, *_] = self._session.run(None, fed)
            for place, value in zip(batch, read(np.asarray(output), mask), strict=True):
                found[place] = value
        return found

    def _fed(
        self, encodings: Sequence[Any], width: int
    ) -> tuple[NDArray[np.int64], dict[str, NDArray[np.int64]]]:
        shape = (len(encodings), width)
        fed = {
            name: np.zeros(shape, np.int64)
            for name in ("input_ids", "attention_mask", "token_type_ids")
        }
        for row, encoding in enumerate(encodings):
            size = len(encoding.ids)
            fed["input_ids"][row, :size] = encoding.ids
            fed["attention_mask"][row, :size] = 1
            fed["token_type_ids"][row, :size] = encoding.type_ids
        return fed["attention_mask"], {name: fed[name] for name in self._wanted}

    def _of_pairs(self, output: Floats, _mask: NDArray[np.int64]) -> Floats:
        rows = output.reshape(len(output), -1)
        if rows.shape[1] == 1:
            return rows[:, 0]
        place = self._spec.entailment
        if place is None or place >= rows.shape[1]:
            raise ConfigurationError(
                f"the encoder gives {rows.shape[1]} numbers; encoder.json must name `entailment`"
            )
        others = np.delete(rows, place, axis=1)
        return np.asarray(np.logaddexp.reduce(others, axis=1) - rows[:, place])

    def _of_texts(self, output: Floats, mask: NDArray[np.int64]) -> Floats:
        if output.ndim == 3:
            if self._spec.pooling == "cls":
                output = output[:, 0]
            else:
                weights = mask[:, :, None].astype(np.float32)
                output = (output * weights).sum(1) / weights.sum(1)
        return np.asarray(output / (np.linalg.norm(output, axis=1, keepdims=True) + _MASKED))


def _session(packed: bytes, threads: int, folder: Path) -> Any:
    """A session that keeps to its threads and leaves the processor alone between calls."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # Several threads wait for each other's part awake, which saves a seventh of the time, but only
    # while a reading runs.
    options.add_session_config_entry("session.intra_op.allow_spinning", "1")
    options.add_session_config_entry("session.force_spinning_stop", "1")
    try:
        return onnxruntime.InferenceSession(packed, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # noqa: BLE001 - the library's errors have no base of their own
        raise ConfigurationError(f"encoder {folder}: model.onnx cannot be run: {error}") from None
