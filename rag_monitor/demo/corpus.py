"""The demo's own documents and questions: a Chinese bank and an English electronics shop."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Literal

Language = Literal["zh", "en"]
LANGUAGES: tuple[Language, ...] = ("zh", "en")

_PASSAGE_FILES: Mapping[Language, str] = {"zh": "bank_zh.jsonl", "en": "shop_en.jsonl"}
_QUESTION_FILES: Mapping[Language, str] = {"zh": "questions_zh.jsonl", "en": "questions_en.jsonl"}
DEFAULT_WORKFLOW = "faq"


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """One support article."""

    id: str
    language: Language
    knowledge_base: str
    title: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question whose answer stands in the corpus, with what should be called for it."""

    text: str
    language: Language
    passage: str
    """Id of the passage that holds the answer."""
    knowledge_base: str
    workflow: str
    plugin: str | None

    @property
    def expected(self) -> dict[str, list[str]]:
        """The labels that travel with the question, as Trace JSON's `expected`."""
        return {
            "knowledge_base": [self.knowledge_base],
            "workflow": [self.workflow],
            "plugin": [self.plugin] if self.plugin else [],
        }


def load_passages(language: Language) -> tuple[Passage, ...]:
    """All passages of one language, in file order."""
    return tuple(Passage(language=language, **row) for row in _rows(_PASSAGE_FILES[language]))


def load_questions(language: Language) -> tuple[Question, ...]:
    """All questions of one language, in file order."""
    home = {passage.id: passage.knowledge_base for passage in load_passages(language)}
    return tuple(
        Question(
            text=row["question"],
            language=language,
            passage=row["passage"],
            knowledge_base=home[row["passage"]],
            workflow=row.get("workflow", DEFAULT_WORKFLOW),
            plugin=row.get("plugin"),
        )
        for row in _rows(_QUESTION_FILES[language])
    )


def language_of(text: str) -> Language:
    """Chinese when the text has a CJK ideograph, else English."""
    return "zh" if any("\u4e00" <= char <= "\u9fff" for char in text) else "en"


def _rows(name: str) -> Iterator[dict[str, str]]:
    content = (files("rag_monitor.demo") / "data" / name).read_text(encoding="utf-8")
    for line in content.splitlines():
        yield json.loads(line)
