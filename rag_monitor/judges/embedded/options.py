"""Settings of the embedded judge, and the weights and encoder they name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rag_monitor.errors import ConfigurationError
from rag_monitor.judges.embedded.model import Model, full, read_model

if TYPE_CHECKING:
    from rag_monitor.judges.embedded.encoder import Encoder


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedOptions:
    """Settings of the embedded judge, `[judges.embedded]`."""

    max_answer_chars: int = 5_000
    """Longer answers are judged by their beginning; `Judgement.coverage` says how much. A Han
    character counts as three."""
    max_context_chars: int = 3_000_000
    """All passages together, counted likewise; later ones are cut first."""
    max_statements: int = 60
    """Statements of an answer that are judged; `Judgement.coverage` says how much that leaves."""
    threshold: float | None = None
    """Flag `answer_supported` below this instead of the shipped threshold."""
    passage_cache_chars: int = 2_000_000
    """Passages kept indexed, in characters, because traffic recalls the same ones; 0: none."""
    weights: str = ""
    """Path of a file `rag-monitor distil` wrote; empty: the shipped weights."""
    encoder: str = ""
    """Folder of an ONNX encoder (`encoder.py` says what is in it) that `weights` were learnt with;
    empty: the shipped one, or none where the weights know none."""
    encoder_threads: int = 1
    """Threads that read the statements of a trace, one statement each."""
    encoder_window: int = 1024
    """Tokens of one trace's statements that the encoder reads; the least certain ones go first. For
    sufficiency it reads the question beside two windows of the passages besides."""
    max_citation_checks: int = 60
    """How often the statements of one answer are held against passages that they cite; beyond it
    statements are left out of `citation_recall`. The encoder reads one window more for all."""
    calibration: str = ""
    """Path of a file `rag-monitor calibrate` wrote; its version becomes part of the identity."""


def weights_of(options: EmbeddedOptions) -> Model:
    """The weights that the options name, or the shipped ones.

    Raises:
        ConfigurationError: The file is missing or cannot be used.
    """
    return read_model(Path(options.weights)) if options.weights else full()


def encoder_of(options: EmbeddedOptions, model: Model) -> Encoder | None:
    """The encoder that the options name or the weights were learnt with; None when neither does.

    Raises:
        ConfigurationError: It cannot be loaded.
    """
    if not options.encoder and not model.encoder:
        return None
    from rag_monitor.judges.embedded.encoder import load_encoder, shipped_encoder

    if options.encoder:
        return load_encoder(Path(options.encoder), options.encoder_threads)
    return shipped_encoder(options.encoder_threads)


def mismatch(options: EmbeddedOptions, model: Model, encoder: Encoder) -> ConfigurationError:
    """What to do when weights and encoder do not belong together."""
    if not options.weights and options.encoder:
        return ConfigurationError(
            "encoder {encoder} needs weights of its own; learn them with: rag-monitor distil ROWS "
            "--judge YOURS --encoder {encoder} - or leave `encoder` out",
            encoder=options.encoder,
        )
    if not model.encoder:
        return ConfigurationError(
            "the weights know no encoder, but encoder {encoder} is configured; leave `encoder` out",
            encoder=options.encoder or encoder.version,
        )
    if options.encoder:
        return ConfigurationError(
            "the weights were learnt with encoder {learnt}, not with encoder {encoder} "
            "({version}); name its folder as `encoder`, or learn weights for this one: "
            "rag-monitor distil ROWS --judge YOURS --encoder {encoder}",
            learnt=model.encoder,
            encoder=options.encoder,
            version=encoder.version,
        )
    return ConfigurationError(
        "the weights were learnt with encoder {learnt}, and the one in this package is {version}; "
        "name the folder of theirs as `encoder`, or learn them anew: rag-monitor distil ROWS "
        "--judge YOURS",
        learnt=model.encoder,
        version=encoder.version,
    )
