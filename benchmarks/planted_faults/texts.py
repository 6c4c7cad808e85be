"""The texts of the scripted applications; texts/README.md describes their form."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Final

HALVES: Final = ("seen", "unseen")
LANGUAGES: Final = ("en", "zh")
TEXTS: Final = Path(__file__).parent / "texts"

_CHOICE: Final = re.compile(r"\{([^{}|]+)\|([^{}|]+)\}")
_DOCUMENT: Final = re.compile(r"# (?P<title>.+?)(?: \[(?P<mark>[^\]]+)\])?$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One passage with the question that it answers."""

    id: str
    """KNOWLEDGE BASE/number of the document.number of the passage."""
    title: str
    missing: bool
    """Its document is not in the knowledge base."""
    editions: tuple[str, str] | None
    """Years of the newer and the older edition; None: there is one."""
    passage: str
    questions: tuple[str, ...] = ()
    answer: str = ""
    invention: str = ""

    def text(self, *, older: bool = False) -> str:
        """The passage as an edition states it."""
        return _chosen(self.passage, older)

    def undated(self, *, older: bool) -> str:
        """The same without the line that says which edition it is."""
        return re.split("[:：]", self.text(older=older), maxsplit=1)[1].strip()

    def right(self) -> str:
        """The answer."""
        return _chosen(self.answer, False)

    def wrong(self) -> str:
        """The answer with another number, name or date."""
        return _chosen(self.answer, True)

    def invented(self) -> str:
        """The answer, and what the passage does not say."""
        joint = "\n" if "\n" in self.answer else "" if _is_chinese(self.answer) else " "
        return self.right() + joint + self.invention


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeBase:
    """All facts of one knowledge base."""

    name: str
    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrases:
    """How a generator words what has nothing to do with the facts."""

    refusal: tuple[str, ...]
    opening: tuple[str, ...]
    closing: tuple[str, ...]
    joining: tuple[str, ...]
    neighbour: tuple[str, ...]


@lru_cache
def knowledge_bases(half: str, language: str) -> tuple[KnowledgeBase, ...]:
    """Those of one application, by the names of their files."""
    files = sorted((TEXTS / half / language).glob("*.txt"))
    return tuple(_knowledge_base(file) for file in files if file.stem != "phrases")


@lru_cache
def phrases(half: str, language: str) -> Phrases:
    """The phrases of one application."""
    sections: dict[str, list[str]] = {}
    for line in (TEXTS / half / language / "phrases.txt").read_text("utf-8").splitlines():
        if line.startswith("["):
            section = sections.setdefault(line.strip("[]"), [])
        else:
            section.append(line)
    return Phrases(**{name: tuple(lines) for name, lines in sections.items()})


def _knowledge_base(file: Path) -> KnowledgeBase:
    first, *lines = file.read_text("utf-8").splitlines()
    name = first.removeprefix("kb: ")
    facts: list[Fact] = []
    document, title, mark = 0, "", ""
    for line in lines:
        kind, text = line[:2], line[2:]
        if kind == "# " and (found := _DOCUMENT.match(line)):
            document, title, mark = document + 1, found["title"], found["mark"] or ""
        elif kind == "> ":
            years = mark.split()[1:]
            facts.append(
                Fact(
                    id=f"{name}/{document}.{len(facts)}",
                    title=title,
                    missing=mark == "missing",
                    editions=(years[0], years[1]) if years else None,
                    passage=text,
                )
            )
        else:
            facts[-1] = _with_line(facts[-1], kind, text, line)
    return KnowledgeBase(name=name, facts=tuple(facts))


def _with_line(fact: Fact, kind: str, text: str, line: str) -> Fact:
    if kind == "? ":
        return replace(fact, questions=(*fact.questions, text))
    if kind == "! ":
        return replace(fact, answer=text)
    if kind == "+ ":
        return replace(fact, invention=text)
    return replace(fact, answer=f"{fact.answer}\n{line}")


def _chosen(text: str, second: bool) -> str:
    return _CHOICE.sub(lambda found: found[2 if second else 1], text)


def _is_chinese(text: str) -> bool:
    return any("\u4e00" <= character <= "\u9fff" for character in text)
