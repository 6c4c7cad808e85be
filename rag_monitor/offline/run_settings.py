"""How a file is evaluated, and which of that its scores hang on, in a few words that compare.

Only settings that can change a chosen metric are said: a file of text metrics does not mind another
cut-off. Where a model lies does not matter, what is in it does.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from rag_monitor.metrics.rag import DEFAULT_SCORING, ScoringOptions
from rag_monitor.metrics.rag.correctness import SIMILARITY_SHARE
from rag_monitor.metrics.text.meteor import meteor_stages
from rag_monitor.metrics.text.suite import TextOptions
from rag_monitor.offline.reference_judging import CORRECTNESS_METRIC
from rag_monitor.offline.selection import DEFAULT_TEXT, Selection

DEFAULT: Final = "default"
"""No setting could have made other numbers."""
SUMMARY_METRIC: Final = "summary_score"
SUMMARY_COEFFICIENT: Final = "summary_coefficient"
_DIGITS: Final = 12
_READ: Final = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class FileOptions:
    """How a file is evaluated."""

    metrics: tuple[str, ...] | None = None
    """None: everything the rows have labels for and the judge can answer."""
    columns: Mapping[str, str] = field(default_factory=dict)
    output: Path | None = None
    resume: bool = False
    text: TextOptions = field(default_factory=TextOptions)
    processes: int = 2
    k: int | None = None
    """Cut-off of ranking metrics; None: the whole list."""
    encoder: str | None = None
    perplexity: str | None = None
    similarity_share: float = SIMILARITY_SHARE
    scoring: ScoringOptions = DEFAULT_SCORING
    targets: tuple[str, ...] = ()
    """What should be reached: computed where the rows have what it needs."""
    worst: int = 10


def settings_of(chosen: Selection, options: FileOptions) -> str:
    """`name=value` for each setting that the numbers of `chosen` hang on, or `default`."""
    settings: dict[str, object] = {}
    blends = CORRECTNESS_METRIC in chosen.reference_judge
    if chosen.ranking:
        settings["k"] = options.k or "all"
    if blends:
        settings["similarity_share"] = f"{options.similarity_share:g}"
    if options.encoder and (chosen.encoder or (blends and options.similarity_share)):
        settings["encoder"] = _model(options.encoder)
    if options.perplexity and chosen.perplexity:
        settings["perplexity_model"] = _model(options.perplexity)
    if chosen.text:
        terms = "\n".join(sorted(options.text.tokenizer.terms))
        settings["terms"] = _digits(hashlib.blake2b(terms.encode())) if terms else "none"
    if _weighs(chosen, options):
        weights = "\n".join(f"{term} {weight:g}" for term, weight in options.text.weights.items())
        settings["key_terms"] = _digits(hashlib.blake2b(weights.encode()))
    if "meteor" in chosen.text:
        settings["meteor"] = "+".join(meteor_stages())
    if SUMMARY_METRIC in chosen.judge:
        settings[SUMMARY_COEFFICIENT] = f"{options.scoring.conciseness_share:g}"
    return " ".join(f"{name}={value}" for name, value in settings.items()) or DEFAULT


def notes_of(chosen: Selection, options: FileOptions) -> list[str]:
    """What a reader of a report must know about how it was measured, as `key=value`."""
    scored = chosen.text if options.metrics is None else ()
    left_out = [name for name in DEFAULT_TEXT if name not in scored] if scored else []
    blends = CORRECTNESS_METRIC in chosen.reference_judge
    summed_up = SUMMARY_METRIC in chosen.judge
    terms = options.text.tokenizer.terms
    notes = {
        "left_out": ", ".join(left_out),
        "meteor": "+".join(meteor_stages()) if "meteor" in chosen.text else "",
        "terms": str(len(terms)) if terms else "",
        "key_terms": str(len(options.text.weights)) if _weighs(chosen, options) else "",
        "k": str(options.k) if options.k is not None and chosen.ranking else "",
        "encoder": Path(options.encoder).name if options.encoder else "",
        "perplexity_model": Path(options.perplexity).name if options.perplexity else "",
        "similarity_share": f"{options.similarity_share:g}" if blends else "",
        SUMMARY_COEFFICIENT: f"{options.scoring.conciseness_share:g}" if summed_up else "",
    }
    return [f"{name}={value}" for name, value in notes.items() if value]


def _weighs(chosen: Selection, options: FileOptions) -> bool:
    """Whether key terms weigh in a metric."""
    return bool(options.text.weights) and any(name.startswith("rouge_") for name in chosen.text)


def differing(a: Collection[str], b: Collection[str]) -> tuple[str, str]:
    """What two files say otherwise about settings that both name; empty: nothing."""
    named = _by_name(a), _by_name(b)
    names = [name for name in named[0] if name in named[1] and named[0][name] != named[1][name]]
    one, other = (
        " ".join(f"{name}={value}" for name in names for value in sorted(values[name]))
        for values in named
    )
    return one, other


def _by_name(settings: Collection[str]) -> dict[str, set[str]]:
    values: dict[str, set[str]] = defaultdict(set)
    for name, is_, value in (pair.partition("=") for text in settings for pair in text.split()):
        if is_:
            values[name].add(value)
    return values


def _model(name: str) -> str:
    """A model's name, for a folder with a hash of its files: names of checkpoints repeat."""
    folder = Path(name)
    if not folder.is_dir():
        return name
    whole = hashlib.blake2b()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.name.startswith("."):
            whole.update(path.relative_to(folder).as_posix().encode())
            with path.open("rb") as stream:
                while piece := stream.read(_READ):
                    whole.update(piece)
    return f"{'_'.join(folder.resolve().name.split())}@{_digits(whole)}"


def _digits(whole: hashlib.blake2b) -> str:
    return whole.hexdigest()[:_DIGITS]
