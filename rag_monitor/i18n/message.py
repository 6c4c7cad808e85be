"""A sentence that can be said in every language that has a catalogue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from rag_monitor.i18n.catalogue import ENGLISH, catalogue


class Message(str):
    """An English sentence that remembers what it was made of.

    It is a string, so it is stored, sent, compared and shown as any other; only `translate` looks
    further. `str(message)` is the message itself, hence `str(error)` of an error that was raised
    with one can be translated, too. Formatting it into another string makes plain text: a sentence
    within a sentence is a parameter.

        >>> message = Message("not clear among {n}", n=3)
        >>> message
        'not clear among 3'
        >>> translate(message, "zh")
        '3 项比较中不显著'
    """

    __slots__ = ("context", "msgid", "params", "plural")

    msgid: str
    """The sentence with its parameters in braces, as `str.format` takes them."""
    plural: str
    """The same for every number `n` but one; empty: the sentence has one form."""
    context: str
    """Tells apart equal English texts that other languages say differently; mostly empty."""
    params: Mapping[str, object]
    """Texts, numbers and further messages by name; a tuple is a list of them."""

    def __new__(cls, msgid: str, /, **params: object) -> Message:
        """A sentence with its parameters."""
        return cls._made("", msgid, "", params)

    @classmethod
    def counted(cls, one: str, many: str, /, *, n: int, **params: object) -> Message:
        """A sentence that has another form for one than for every other number `n`."""
        return cls._made("", one, many, {"n": n, **params})

    @classmethod
    def within(cls, context: str, msgid: str, /, **params: object) -> Message:
        """A sentence, or a word, that another language says differently elsewhere."""
        return cls._made(context, msgid, "", params)

    @classmethod
    def _made(cls, context: str, msgid: str, plural: str, params: Mapping[str, object]) -> Message:
        # Of an error only its sentence is kept: it would hold on to its traceback.
        params = {
            name: str(value) if isinstance(value, BaseException) else value
            for name, value in params.items()
        }
        template = plural if plural and params["n"] != 1 else msgid
        self = super().__new__(cls, _filled(template, params, ENGLISH))
        self.context, self.msgid, self.plural, self.params = context, msgid, plural, params
        return self

    @classmethod
    def _copied(
        cls, context: str, msgid: str, plural: str, params: Mapping[str, object], text: str
    ) -> Message:
        self = super().__new__(cls, text)
        self.context, self.msgid, self.plural, self.params = context, msgid, plural, params
        return self

    def __str__(self) -> str:
        return self

    def given(self, **params: object) -> Message:
        """The same sentence with other parameters."""
        return Message._made(self.context, self.msgid, self.plural, params)

    def lowered(self) -> Message:
        """The same for the middle of a sentence: English begins with a small letter."""
        text = f"{self[:1].lower()}{self[1:]}"
        return Message._copied(self.context, self.msgid, self.plural, self.params, text)

    def __reduce__(self) -> tuple[Any, ...]:
        made = (self.context, self.msgid, self.plural, dict(self.params))
        return Message._copied, (*made, str.__str__(self))

    def translated(self, language: str) -> str:
        """The sentence in a language; in English where the catalogue does not have it."""
        if language == ENGLISH or not self.msgid:  # whose entry describes the catalogue
            return str.__str__(self)
        translations = catalogue(language)
        if self.plural:
            text = translations.ngettext(self.msgid, self.plural, cast("int", self.params["n"]))
        elif self.context:
            text = translations.pgettext(self.context, self.msgid)
        else:
            text = translations.gettext(self.msgid)
        return _filled(text, self.params, language)


def recipe(text: object) -> dict[str, Any] | None:
    """What a message is made of, as JSON holds it; None: it is text of somebody else."""
    if not isinstance(text, Message):
        return None
    made = {"msgid": text.msgid, "plural": text.plural, "context": text.context}
    params = {name: _kept(value) for name, value in text.params.items()}
    return {name: part for name, part in made.items() if part} | (
        {"params": params} if params else {}
    )


def made_of(given: Mapping[str, Any], text: str) -> Message:
    """The message of a `recipe`, whose English sentence is `text`."""
    params = {name: _unpacked(value) for name, value in given.get("params", {}).items()}
    context, plural = given.get("context", ""), given.get("plural", "")
    return Message._copied(context, given.get("msgid", ""), plural, params, text)


def _kept(value: object) -> object:
    if isinstance(value, Message):
        return {"text": str.__str__(value), **(recipe(value) or {})}
    if isinstance(value, tuple):
        return [_kept(part) for part in value]
    return value if isinstance(value, str | int | float) else str(value)


def _unpacked(value: object) -> object:
    if isinstance(value, Mapping):
        return made_of(value, value["text"])
    return tuple(map(_unpacked, value)) if isinstance(value, list) else value


def msgid(text: str) -> str:
    """The text itself: marks one that a message is made of elsewhere, for the extraction."""
    return text


def translate(message: object, language: str) -> str:
    """What a message, or an error raised with one, says in a language; other text as it is."""
    text = str(message)
    return text.translated(language) if isinstance(text, Message) else text


def _filled(template: str, params: Mapping[str, object], language: str) -> str:
    if not params:
        return template
    return template.format(**{name: _inner(value, language) for name, value in params.items()})


def _inner(value: object, language: str) -> object:
    if isinstance(value, Message):
        return value.translated(language)
    if isinstance(value, tuple):
        comma = catalogue(language).gettext(", ")
        return comma.join(str(_inner(part, language)) for part in value)
    return value
