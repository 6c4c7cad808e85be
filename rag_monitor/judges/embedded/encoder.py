"""An encoder as a second opinion on each claim: an ONNX file run by onnxruntime, without torch.

A folder holds `model.onnx`, `tokenizer.json` (of the `tokenizers` library) and `encoder.json`:

    {"format": 1, "reads": "pairs", "longest": 160}

`reads` is `pairs` for a cross encoder (claim and evidence in one window) or `texts` for an
embedding model (bge-m3 ...). An encoder says two things of a claim: log-odds of contradiction and
of missing support, both against support. Of `pairs` the first output is one log-odds a row, which
then stands for both; the two; or logits of several classes with `entailment` naming the supporting
one and `contradiction`, where there is one, the contrary (mDeBERTa and other NLI models). Of
`texts` it is one vector a row, or one a token with `pooling` `mean` or `cls`; both are minus the
cosine of claim and evidence, less `centre`, times `scale`. Of `pairs` there may be another output,
`states`: what a layer in the middle says of every token, which a probe can be learnt on.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from importlib import resources
from pathlib import Path
from typing import Any, Final, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter, ValidationError

from rag_monitor.errors import ConfigurationError
from rag_monitor.field_values import wrong_value
from rag_monitor.installation import install_command

FORMAT: Final = 1
LIMIT: Final = 8.0
"""Log-odds of doubt of one claim are kept within this."""
_NOTHING: Final = 1e-9
STATES: Final = "states"
"""Name of the output that gives a vector for every token."""

Floats = NDArray[np.float32]
Reading = tuple[str, str]
"""A claim (with its question where it is short) and the evidence packed for it."""
EncoderLogits = tuple[float, float]
"""Log-odds that the evidence contradicts the claim, and that it only does not support it, against
its support, -8 to 8."""


class Encoder(Protocol):
    """Tells how doubtful claims are given their evidence."""

    @property
    def version(self) -> str:
        """Changes with everything that decides a number."""
        ...

    def sizes(self, readings: Sequence[Reading]) -> list[int]:
        """Tokens each reading takes."""
        ...

    def logits(self, readings: Sequence[Reading]) -> list[EncoderLogits]:
        """What the evidence says of each claim."""
        ...

    def states(self, readings: Sequence[Reading]) -> list[Floats]:
        """A vector for each reading, for a probe; only of encoders with the output `states`."""
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
    contradiction: int | None = None
    """Which means "contradicted"; None where the model has no such class."""
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
        raise ConfigurationError(
            "encoder {folder}: {file}: {reason}",
            folder=folder,
            file=error.filename,
            reason=error.strerror,
        ) from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise ConfigurationError(
            "encoder {folder}: encoder.json {place}: {reason}",
            folder=folder,
            place=first["loc"],
            reason=wrong_value(first),
        ) from None
    except ImportError as error:
        raise ConfigurationError(
            "encoder {folder} needs {reason}: {command}; or judge by words alone with the judge "
            "embedded-lexical",
            folder=folder,
            reason=error.name or error,
            command=install_command("server"),
        ) from None


class OnnxEncoder:
    """An ONNX file. Thread-safe: a session may be run from several threads.

    Every row is read on its own: nothing is spent on filling rows up to the longest, arithmetic in
    eight bits does not depend on what else is read, and threads that have a row each need not wait
    for each other at every product, as threads that share one do.
    """

    def __init__(self, folder: Path, spec: EncoderSpec, threads: int) -> None:
        from tokenizers import Tokenizer

        packed = (folder / "model.onnx").read_bytes()
        vocabulary = (folder / "tokenizer.json").read_bytes()
        self._spec = spec
        self._tokenizer = Tokenizer.from_buffer(vocabulary)
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(spec.longest, strategy="longest_first")
        self._session = _session(packed, folder)
        self._readers = ThreadPoolExecutor(threads, "encoder") if threads > 1 else None
        self._output_name = self._session.get_outputs()[0].name
        self._wanted = [value.name for value in self._session.get_inputs()]
        unknown = set(self._wanted) - {"input_ids", "attention_mask", "token_type_ids"}
        if unknown:
            raise ConfigurationError(
                "encoder {folder}: model.onnx asks for {names}",
                folder=folder,
                names=sorted(unknown),
            )
        settings = json.dumps({name: getattr(spec, name) for name in EncoderSpec.__slots__})
        self.version = hashlib.sha256(packed + vocabulary + settings.encode()).hexdigest()[:12]

    def sizes(self, readings: Sequence[Reading]) -> list[int]:
        """Tokens each reading takes."""
        return [len(encoding.ids) for encoding in self._encode(readings)]

    def logits(self, readings: Sequence[Reading]) -> list[EncoderLogits]:
        """Log-odds of contradiction and of missing support, a pair each."""
        if self._spec.reads == "pairs":
            logits = [self._of_pair(output) for output in self._read(self._encode(readings))]
        else:
            texts = sorted({text for reading in readings for text in reading})
            outputs = self._read([self._tokenizer.encode(text) for text in texts])
            by_text = dict(zip(texts, map(self._of_text, outputs), strict=True))
            cosines = [float(by_text[claim] @ by_text[evidence]) for claim, evidence in readings]
            logits = [(self._spec.scale * (self._spec.centre - cosine),) * 2 for cosine in cosines]
        return [(_limited(contradicted), _limited(missing)) for contradicted, missing in logits]

    def states(self, readings: Sequence[Reading]) -> list[Floats]:
        """Of each reading its first token, the means of both texts, and the second's greatest."""
        encodings = self._encode(readings)
        outputs = self._read(encodings, STATES)
        return [_pooled(*one) for one in zip(encodings, outputs, strict=True)]

    def _encode(self, readings: Sequence[Reading]) -> list[Any]:
        if self._spec.reads == "pairs":
            return [self._tokenizer.encode(*pair) for pair in readings]
        return [self._tokenizer.encode(" ".join(pair)) for pair in readings]

    def _read(self, encodings: Sequence[Any], name: str | None = None) -> list[Floats]:
        """An output for each row, the first if none is named.

        The longest go first, so that threads end together.
        """
        order = sorted(range(len(encodings)), key=lambda n: -len(encodings[n].ids))
        rows = [encodings[n] for n in order]
        each = self._readers.map if self._readers and len(rows) > 1 else map
        read = partial(self._output, name or self._output_name)
        outputs = dict(zip(order, each(read, rows), strict=True))
        return [outputs[n] for n in range(len(encodings))]

    def _output(self, name: str, encoding: Any) -> Floats:
        inputs = {
            "input_ids": encoding.ids,
            "attention_mask": encoding.attention_mask,
            "token_type_ids": encoding.type_ids,
        }
        fed = {name: np.array([inputs[name]], np.int64) for name in self._wanted}
        [output] = self._session.run([name], fed)
        return np.asarray(np.asarray(output)[0])

    def _of_pair(self, output: Floats) -> EncoderLogits:
        row = output.reshape(-1)
        place = self._spec.entailment
        if len(row) == 1:
            return float(row[0]), float(row[0])
        if place is None:
            if len(row) == 2:
                return float(row[0]), float(row[1])
            raise ConfigurationError(
                "the encoder gives {count} numbers; encoder.json must name `entailment`",
                count=len(row),
            )
        against = self._spec.contradiction
        if max(place, against or 0) >= len(row):
            raise ConfigurationError(
                "the encoder gives {count} numbers; encoder.json must name `entailment` and "
                "`contradiction` among them",
                count=len(row),
            )
        others = np.delete(row, [place] if against is None else [place, against])
        missing = float(np.logaddexp.reduce(others))
        contradicted = missing if against is None else float(row[against])
        return contradicted - float(row[place]), missing - float(row[place])

    def _of_text(self, output: Floats) -> Floats:
        if output.ndim == 2:
            output = output[0] if self._spec.pooling == "cls" else output.mean(0)
        return np.asarray(output / (np.linalg.norm(output) + _NOTHING))


def _pooled(encoding: Any, states: Floats) -> Floats:
    of = np.array([-1 if text is None else text for text in encoding.sequence_ids])
    first, second = (states[of == text] for text in (0, 1))
    empty = np.zeros((1, states.shape[1]), states.dtype)
    first, second = (part if len(part) else empty for part in (first, second))
    return np.concatenate([states[0], first.mean(0), second.mean(0), second.max(0)])


def _limited(value: float) -> float:
    return min(LIMIT, max(-LIMIT, float(value)))


def _session(packed: bytes, folder: Path) -> Any:
    """A session that reads a row in the thread that asks."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(packed, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # noqa: BLE001 - the library's errors have no base of their own
        raise ConfigurationError(
            "encoder {folder}: model.onnx cannot be run: {reason}", folder=folder, reason=error
        ) from None
