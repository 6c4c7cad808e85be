"""One structured question: which fields the model fills in, and how its reply is read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from rag_monitor.domain.judgement import Aspect
from rag_monitor.errors import JudgeOutputInvalid
from rag_monitor.judges import parsing
from rag_monitor.judges.hardening import clean
from rag_monitor.judges.prompts import PromptSet
from rag_monitor.judges.questions import ONCE, Question

MAX_INFERRED: Final = 6
"""Key points or summary questions a model may add."""
_TOKENS_BASE: Final = 60
_TOKENS_PER_NUMBER: Final = 12
_TOKENS_PER_TEXT: Final = 80
_PROBABILITY: Final = {"type": "number", "minimum": 0, "maximum": 1}
_ITEMS: Final = (
    (Aspect.SUPPORT, "statements"),
    (Aspect.COVERAGE, "key_points"),
    (Aspect.SUMMARY_QUESTION, "questions"),
)
_LISTS: Final = {
    "inferred_key_points": ("text", "covered"),
    "summary_questions": ("question", "answered"),
}


@dataclass(slots=True)
class Answers:
    """What was answered so far."""

    probabilities: dict[Question, float] = field(default_factory=dict)
    evidence: dict[int, int | None] = field(default_factory=dict)
    """Per statement, the 0-based passage it rests on."""
    lists: dict[str, list[tuple[str, float]]] = field(default_factory=dict)
    """Per list field, texts the model wrote and their probabilities."""
    notes: dict[Question, str] = field(default_factory=dict)
    """Why a probability is less sure than others: `bounded`, `text_verdict`."""
    refused: dict[Aspect, str] = field(default_factory=dict)
    """Aspects with a verdict that cannot be used, and why: `low_label_mass`."""
    last_error: str | None = None
    """What was wrong with the last reply that brought nothing."""

    def add(self, other: Answers) -> None:
        """Take over what another call was answered."""
        self.probabilities |= other.probabilities
        self.evidence |= other.evidence
        self.lists |= other.lists
        self.notes |= other.notes
        self.refused |= other.refused
        self.last_error = other.last_error or self.last_error


@dataclass(frozen=True, slots=True, kw_only=True)
class StructuredPrompt:
    """The fields of one call."""

    questions: tuple[Question, ...]
    lists: tuple[str, ...]
    """Names of list fields wanted."""
    nonce: str
    passages: int
    has_query: bool = False

    @property
    def max_tokens(self) -> int:
        """Room for the reply; a longer one is cut and refused."""
        numbers = 2 * len(self.questions)
        texts = MAX_INFERRED * len(self.lists)
        return _TOKENS_BASE + _TOKENS_PER_NUMBER * numbers + _TOKENS_PER_TEXT * texts

    def evidence(self) -> dict[str, dict[str, str]]:
        """The numbered statements and key points that go with the trace."""
        return {
            name: {str(q.index + 1): clean(q.text) for q in questions}
            for aspect, name in _ITEMS
            if (questions := [q for q in self.questions if q.aspect is aspect])
        }

    def text(self, prompts: PromptSet) -> str:
        """The description of the fields, to stand after the evidence."""
        words = prompts.structured
        lines = [words["closing"], f'"{parsing.NONCE}": {words["nonce"]} "{self.nonce}"']
        for aspect, questions in self._groups().items():
            kind = self._kind(aspect)
            lines.append(f'"{aspect}"{_keys(aspect, questions)}: {words[kind]}')
            if self._rests(aspect):
                lines.append(f'"rests_on"{_keys(aspect, questions)}: {words["rests_on"]}')
        for name in self.lists:
            text, value = _LISTS[name]
            lines.append(f'"{name}" [{{"{text}": "…", "{value}": p}}]: {words[name]}')
        return "\n".join(lines)

    def schema(self) -> dict[str, Any]:
        """The JSON schema of the reply."""
        properties: dict[str, Any] = {parsing.NONCE: {"type": "string", "enum": [self.nonce]}}
        for aspect, questions in self._groups().items():
            if aspect in ONCE:
                properties[aspect.value] = _PROBABILITY
                continue
            names = [str(question.index + 1) for question in questions]
            properties[aspect.value] = _object(dict.fromkeys(names, _PROBABILITY))
            if self._rests(aspect):
                place = {"type": "integer", "minimum": 0, "maximum": self.passages}
                properties["rests_on"] = _object(dict.fromkeys(names, place))
        for name in self.lists:
            text, value = _LISTS[name]
            entry = _object({text: {"type": "string"}, value: _PROBABILITY})
            properties[name] = {"type": "array", "items": entry}
        return _object(properties)

    def read(self, reply: Mapping[str, Any], answers: Answers) -> None:
        """Check a whole reply, which repeats the nonce, then add it to `answers`.

        Verdicts that are left out or null stay open; the caller asks again.

        Raises:
            JudgeOutputInvalid: Anything in it was not asked for or is not what was asked for.
        """
        groups = self._groups()
        names = {parsing.NONCE, *(aspect.value for aspect in groups), *self.lists}
        parsing.only(reply, names | ({"rests_on"} if Aspect.SUPPORT in groups else set()))
        probabilities: dict[Question, float] = {}
        for aspect, questions in groups.items():
            if reply.get(aspect.value) is not None:
                probabilities |= _read_group(aspect, questions, reply[aspect.value])
        places = self._places(reply.get("rests_on"), groups.get(Aspect.SUPPORT, []))
        lists = {n: _read_list(n, reply[n]) for n in self.lists if reply.get(n) is not None}
        answers.probabilities |= probabilities
        answers.evidence |= places
        answers.lists |= lists

    def _groups(self) -> dict[Aspect, list[Question]]:
        groups: dict[Aspect, list[Question]] = defaultdict(list)
        for question in self.questions:
            groups[question.aspect].append(question)
        return dict(groups)

    def _kind(self, aspect: Aspect) -> str:
        asks_query = aspect is Aspect.RELEVANCE and self.has_query
        return "relevance_to_query" if asks_query else aspect.value

    def _rests(self, aspect: Aspect) -> bool:
        return aspect is Aspect.SUPPORT and self.passages > 0

    def _places(self, value: object, questions: Sequence[Question]) -> dict[int, int | None]:
        if value is None:
            return {}
        entries = _entries(value, questions, "rests_on")
        for entry in entries.values():
            if type(entry) is not int or not 0 <= entry <= self.passages:
                raise JudgeOutputInvalid("rests_on names a passage that does not exist")
        return {q.index: entry - 1 if entry else None for q, entry in entries.items()}


def _keys(aspect: Aspect, questions: Sequence[Question]) -> str:
    if aspect in ONCE:
        return ""
    return " {" + ", ".join(f'"{question.index + 1}"' for question in questions) + "}"


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def _read_group(
    aspect: Aspect, questions: Sequence[Question], value: object
) -> dict[Question, float]:
    if aspect in ONCE:
        return {questions[0]: parsing.probability(value, aspect.value)}
    return {
        question: parsing.probability(entry, f"{aspect.value} {question.index + 1}")
        for question, entry in _entries(value, questions, aspect.value).items()
    }


def _entries(value: object, questions: Sequence[Question], where: str) -> dict[Question, Any]:
    by_key = {str(question.index + 1): question for question in questions}
    if not isinstance(value, Mapping):
        raise JudgeOutputInvalid("{where} is not an object", where=where)
    parsing.only(value, by_key)
    return {by_key[key]: entry for key, entry in value.items() if entry is not None}


def _read_list(name: str, value: object) -> list[tuple[str, float]]:
    text_field, value_field = _LISTS[name]
    if not isinstance(value, list) or not 1 <= len(value) <= MAX_INFERRED:
        raise JudgeOutputInvalid(
            "{name} is not a list of 1 to {most} entries", name=name, most=MAX_INFERRED
        )
    rows: list[tuple[str, float]] = []
    for entry in value:
        if not isinstance(entry, Mapping) or set(entry) != {text_field, value_field}:
            raise JudgeOutputInvalid(
                "an entry of {name} has other fields than asked for", name=name
            )
        (text,) = parsing.texts([entry[text_field]], 1, name)
        rows.append((text, parsing.probability(entry[value_field], name)))
    return rows
