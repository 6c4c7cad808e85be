"""How each published detector is asked, and what its numbers mean.

The texts are those the models were trained with; a word more or less and the figures of their
authors no longer hold. Sources: HHEM-2.1-Open, model card and `configuration_hhem_v2.py` (Vectara);
LettuceDetect, `prompts/qa_prompt_en.txt` and `summary_prompt_en.txt` (KRLabs); MiniCheck,
`minicheck/inference.py` (Tang, Laban and Durrett 2024); Granite Guardian is in `guardian`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from rag_monitor.errors import ConfigurationError
from rag_monitor.i18n import Message
from rag_monitor.judges.detectors.facts import Facts
from rag_monitor.judges.detectors.options import (
    GUARDIAN,
    HHEM,
    LETTUCE,
    MINICHECK,
    NLI,
    DetectorOptions,
)

Layout = Callable[[Sequence[str], str, str], tuple[str, str | None]]
"""From passages, statement and question to the one text, or the pair, that the model reads."""


class Reads(StrEnum):
    """Where in a model's output the verdict stands."""

    CLASSES = "classes"
    """One row of classes for the whole input."""
    FIRST_TOKEN = "first_token"  # noqa: S105 - a place, no secret
    """The classes of the first token."""
    TOKENS = "tokens"
    """The classes of every token."""
    FIRST_STEP = "first_step"
    """The vocabulary, at the first step of the decoder."""
    WORDS = "words"
    """Yes or no, as the model writes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One way of asking."""

    name: str
    reads: Reads
    lay_out: Layout
    max_tokens: int
    window_tokens: int
    whole: bool
    """Whether `answer_supported` reads the answer as one statement."""
    classes: tuple[int, ...] = ()
    """Which outputs count, where it is not all of them."""
    supported: int = 1
    """Which of those means "supported"; of `TOKENS` and `WORDS`, which means "not supported"."""
    contradiction: int | None = None
    """Which of those means "contradicted", where the model tells."""
    special_tokens: bool = True
    """Whether the tokenizer adds the tokens that begin and end a text."""


T5_LABELS: Final = (3, 209)
"""Tokens of Flan-T5 that MiniCheck reads: not supported, supported."""
_T5_WINDOW: Final = 660
"""Tokens of 500 English words, the chunk that MiniCheck's authors give Flan-T5."""


def format_of(name: str, facts: Facts, options: DetectorOptions) -> Format:
    """The format `name` for a model of these facts, with what the settings say otherwise.

    Raises:
        ConfigurationError: The model's labels do not say what is needed, or the settings ask for
            more than it can read.
    """
    made = {
        HHEM: _hhem,
        LETTUCE: _lettucedetect,
        MINICHECK: _minicheck,
        GUARDIAN: _guardian,
        NLI: _nli,
    }[name](facts)
    if name == NLI:
        made = replace(made, supported=_entailment(facts, options))
    most = options.max_tokens or min(made.max_tokens, facts.longest or made.max_tokens)
    if facts.longest is not None and most > facts.longest:
        raise ConfigurationError(
            "judges.detector.max_tokens must be at most {most} for this model", most=facts.longest
        )
    return replace(
        made,
        max_tokens=most,
        window_tokens=min(options.window_tokens or made.window_tokens, most),
        whole=made.whole if options.answer == "auto" else options.answer == "whole",
    )


def _hhem(facts: Facts) -> Format:
    consistent = facts.place(("consistent",))
    return Format(
        name=HHEM,
        reads=Reads.FIRST_TOKEN,
        lay_out=hhem_layout,
        max_tokens=2048,
        window_tokens=2048,
        whole=True,
        supported=1 if consistent is None else consistent,
    )


def hhem_layout(passages: Sequence[str], statement: str, _question: str) -> tuple[str, None]:
    """HHEM-2.1-Open: one text; `<pad>` is the token whose classes are read."""
    return (
        "<pad> Determine if the hypothesis is true given the premise?\n\n"
        f"Premise: {chr(10).join(passages)}\n\nHypothesis: {statement}"
    ), None


def _lettucedetect(facts: Facts) -> Format:
    unsupported = facts.place(("hallucin", "unsupported"))
    return Format(
        name=LETTUCE,
        reads=Reads.TOKENS,
        lay_out=lettuce_layout,
        max_tokens=4096,
        window_tokens=4096,
        whole=False,
        supported=1 if unsupported is None else unsupported,
    )


def lettuce_layout(passages: Sequence[str], answer: str, question: str) -> tuple[str, str]:
    """LettuceDetect: the prompt that was answered, and the answer. Passages count from 1."""
    shown = "\n".join(f"passage {n}: {text}" for n, text in enumerate(passages, start=1))
    if not question.strip():
        return f"Summarize the following text:\n{shown}\noutput:", answer
    return (
        f"Briefly answer the following question:\n{question}\n"
        "Bear in mind that your response should be strictly based on the following "
        f"{len(passages)} passages:\n{shown}\n"
        "In case the passages do not contain the necessary information to answer the question, "
        'please reply with: "Unable to answer based on given passages."\noutput:'
    ), answer


def _minicheck(facts: Facts) -> Format:
    joint = facts.separator
    if not joint:
        raise ConfigurationError(
            "MiniCheck joins document and claim with the tokenizer's eos_token, which its "
            "tokenizer_config.json does not name"
        )
    seq2seq = facts.model_type == "t5"
    start = "predict: " if seq2seq else ""

    def lay_out(passages: Sequence[str], statement: str, _question: str) -> tuple[str, None]:
        return start + "\n".join(passages) + joint + statement, None

    return Format(
        name=MINICHECK,
        reads=Reads.FIRST_STEP if seq2seq else Reads.CLASSES,
        lay_out=lay_out,
        max_tokens=2048,
        window_tokens=_T5_WINDOW if seq2seq else 400,
        whole=False,
        classes=T5_LABELS if seq2seq else (),
    )


def _nli(facts: Facts) -> Format:
    return Format(
        name=NLI,
        reads=Reads.CLASSES,
        lay_out=nli_layout,
        max_tokens=512,
        window_tokens=512,
        whole=False,
        contradiction=facts.contradiction,
    )


def nli_layout(passages: Sequence[str], statement: str, _question: str) -> tuple[str, str]:
    """Any NLI cross encoder: premise and hypothesis."""
    return "\n".join(passages), statement


def _entailment(facts: Facts, options: DetectorOptions) -> int:
    if options.entailment is not None:
        if facts.labels and options.entailment >= len(facts.labels):
            raise ConfigurationError(
                "judges.detector.entailment must be below {count}, the number of classes",
                count=len(facts.labels),
            )
        return options.entailment
    entailment = facts.entailment
    if entailment is None and len(facts.labels) == 1:
        return 0
    if entailment is None:
        raise ConfigurationError(
            "the labels {labels} do not say which class means entailment; set "
            "judges.detector.entailment to its number",
            labels=", ".join(facts.labels) or Message("(none)"),
        )
    return entailment


def _guardian(_facts: Facts) -> Format:
    return Format(
        name=GUARDIAN,
        reads=Reads.WORDS,
        lay_out=_by_template,
        max_tokens=4096,
        window_tokens=4096,
        whole=True,
        supported=0,
        special_tokens=False,
    )


def _by_template(_passages: Sequence[str], _statement: str, _question: str) -> tuple[str, None]:
    """Stands in until the model is loaded: only its chat template knows the layout."""
    raise RuntimeError("`guardian_layout` of the model's tokenizer has to take this place first")
