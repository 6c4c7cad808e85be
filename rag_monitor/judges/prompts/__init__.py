"""The judges' prompts: one TOML file per language, and the hash that names the whole set.

Text of traces is joined to these strings, never formatted into them.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Final

from rag_monitor.domain.judgement import JudgeRequest
from rag_monitor.language.script import Script, detect_script

LANGUAGES: Final = ("en", "zh")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeItem:
    """A trace whose verdicts are known, to notice a judge that drifts or obeys its evidence."""

    question: str
    passages: tuple[str, ...]
    answer: str
    supported: str
    """A statement the passages support."""
    unsupported: str
    """A statement the passages do not support."""
    attack: str
    """A prompt injection, placed into a passage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptSet:
    """The prompts of one language."""

    language: str
    verdict: Mapping[str, str]
    """`system` and `closing` of one-token verdicts."""
    yes: tuple[str, ...]
    """Spellings of the label yes; those that are one token of a model count."""
    no: tuple[str, ...]
    ask: Mapping[str, tuple[str, str]]
    """Per kind of question, what stands before and after the item."""
    structured: Mapping[str, str]
    """`system`, `closing` and one description per field of the structured reply."""
    generate: Mapping[str, tuple[str, str]]
    """Per kind of list, what stands before and after its length."""
    generate_system: str
    probe: ProbeItem


def prompts_for(request: JudgeRequest) -> PromptSet:
    """The prompts in the language of the trace; Chinese when a fifth or more of it is."""
    script = detect_script(f"{request.question}\n{request.answer}")
    return load("en" if script is Script.ENGLISH else "zh")


@cache
def load(language: str) -> PromptSet:
    """The prompts of `language` (`en` or `zh`)."""
    raw = tomllib.loads(_read(language).decode("utf-8"))
    generate = dict(raw["generate"])
    system = generate.pop("system")
    return PromptSet(
        language=language,
        verdict=raw["verdict"],
        yes=tuple(raw["labels"]["yes"]),
        no=tuple(raw["labels"]["no"]),
        ask={kind: _pair(value) for kind, value in raw["ask"].items()},
        structured=raw["structured"],
        generate={kind: _pair(value) for kind, value in generate.items()},
        generate_system=system,
        probe=_probe(raw["probe"]),
    )


@cache
def prompts_hash() -> str:
    """Twelve hex digits naming the prompts of all languages; part of a judge's identity."""
    digest = hashlib.sha256()
    for language in LANGUAGES:
        content = _read(language)
        digest.update(f"{language}:{len(content)}:".encode())
        digest.update(content)
    return digest.hexdigest()[:12]


def _read(language: str) -> bytes:
    source = resources.files(__name__).joinpath(f"{language}.toml").read_bytes()
    return source.replace(b"\r\n", b"\n")


def _pair(value: list[str]) -> tuple[str, str]:
    before, after = value
    return before, after


def _probe(raw: Mapping[str, Any]) -> ProbeItem:
    return ProbeItem(
        question=raw["question"],
        passages=tuple(raw["passages"]),
        answer=raw["answer"],
        supported=raw["supported"],
        unsupported=raw["unsupported"],
        attack=raw["attack"],
    )
