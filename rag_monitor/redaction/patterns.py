"""What is searched for: one pattern per kind, check digits where the kind has them.

`may_occur` answers quickly whether a text can contain the kind at all; most texts cannot, and then
no regular expression runs. No pattern repeats over what another repetition of it can also take.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

_WEIGHTS: Final = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
_CHECK: Final = "10X98765432"
_IBAN_LENGTH: Final = range(15, 35)


def is_china_id(text: str) -> bool:
    """Whether `text` is a Chinese identity number (GB 11643: a date and ISO 7064 MOD 11-2)."""
    if len(text) != 18 or not text[:17].isascii() or not text[:17].isdigit():
        return False
    try:
        datetime.date(int(text[6:10]), int(text[10:12]), int(text[12:14]))
    except ValueError:
        return False
    total = sum(int(digit) * weight for digit, weight in zip(text, _WEIGHTS, strict=False))
    return _CHECK[total % 11] == text[17].upper()


def is_luhn(digits: str) -> bool:
    """Whether a string of digits passes the Luhn check (ISO/IEC 7812) and is not all one digit."""
    if not digits.isascii() or not digits.isdigit() or len(set(digits)) == 1:
        return False
    total = 0
    for position, digit in enumerate(reversed(digits)):
        value = int(digit)
        if position % 2:
            value = value * 2 - 9 if value > 4 else value * 2
        total += value
    return total % 10 == 0


def is_iban(text: str) -> bool:
    """Whether `text` without spaces is an IBAN (ISO 13616, MOD 97-10)."""
    compact = text.replace(" ", "").upper()
    if len(compact) not in _IBAN_LENGTH or not compact.isascii() or not compact.isalnum():
        return False
    moved = compact[4:] + compact[:4]
    return int("".join(str(int(char, 36)) for char in moved)) % 97 == 1


_WORD: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+/=~")
_DIGITS: Final = bytes(0x30 if 0x30 <= code <= 0x39 else 0x2E for code in range(256))
_WORDS: Final = bytes(0x77 if code in _WORD else 0x2E for code in range(256))
_SEPARATORS: Final = b" -"
_FEWEST_DIGITS: Final = 8
"""What the pattern with the fewest digits needs; most texts have no such run."""


def _always(_: str) -> bool:
    return True


class Screen:
    """A text reduced to what decides quickly that a pattern cannot occur in it."""

    __slots__ = ("_digits", "_few_digits", "_lowered", "_raw", "_words", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._raw = text.encode("utf-8", "replace")
        self._few_digits: bool | None = None
        self._digits = b""
        self._words: bytes | None = None
        self._lowered: str | None = None

    def has_digits(self, count: int) -> bool:
        """Whether there are `count` digits in a row, separators of numbers left out."""
        if self._few_digits is None:
            self._digits = self._raw.translate(_DIGITS, _SEPARATORS)
            self._few_digits = b"0" * _FEWEST_DIGITS not in self._digits
        if self._few_digits and count >= _FEWEST_DIGITS:
            return False
        return b"0" * count in self._digits

    def has_word(self, count: int) -> bool:
        """Whether there are `count` characters in a row that tokens are made of."""
        if self._words is None:
            self._words = self._raw.translate(_WORDS)
        return b"w" * count in self._words

    @property
    def lowered(self) -> str:
        """The text in lower case."""
        if self._lowered is None:
            self._lowered = self.text.lower()
        return self._lowered


@dataclass(frozen=True, slots=True)
class Pattern:
    """One kind of thing to hide."""

    kind: str
    expression: re.Pattern[str]
    digits: int = 0
    """Needs this many digits in a row (separators between them do not count)."""
    word: int = 0
    """Needs this many token characters in a row."""
    marks: tuple[str, ...] = ()
    """Needs one of these substrings."""
    hints: tuple[str, ...] = ()
    """Needs one of these substrings, in lower case."""
    check: Callable[[str], bool] = _always

    def may_occur(self, screen: Screen) -> bool:
        """Whether it is worth running the expression. Never false when it would match."""
        if self.digits and not screen.has_digits(self.digits):
            return False
        if self.word and not screen.has_word(self.word):
            return False
        text = screen.text
        # One character is found a hundred times faster than a longer substring.
        if self.marks and not any(mark[0] in text and mark in text for mark in self.marks):
            return False
        return not self.hints or any(hint in screen.lowered for hint in self.hints)


def _card(text: str) -> bool:
    digits = re.sub(r"[ -]", "", text)
    return 13 <= len(digits) <= 19 and is_luhn(digits)


SECRET: Final = Pattern(
    "secret",
    re.compile(
        r"""
        -----BEGIN[ A-Z]{0,40}PRIVATE\ KEY(?:\ BLOCK)?-----
            (?:(?:(?!-----BEGIN)[A-Za-z0-9+/=\s:,\\-]){0,8000}?-----END[A-Z\ ]{0,40}(?:-----)?
               |(?:(?:\s|\\[nr]){0,4}[A-Za-z0-9+/=]{32,200}){1,200})  # cut off before its end
        | \beyJ[A-Za-z0-9_-]{8,4000}\.eyJ[A-Za-z0-9_-]{4,8000}\.[A-Za-z0-9_-]{4,4000}
        | \b(?:AKIA|ASIA)[0-9A-Z]{16}\b
        | \bLTAI[0-9A-Za-z]{12,26}\b
        | \bAIza[0-9A-Za-z_-]{35}
        | \b(?:sk|pk|rk)-[A-Za-z0-9_-]{16,200}
        | \b(?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9]{10,200}
        | \b(?:ghp|gho|ghu|ghs|ghr)_[A-Za-z0-9]{30,255}
        | \bgithub_pat_[A-Za-z0-9_]{30,255}
        | \bglpat-[A-Za-z0-9_-]{16,255}
        | \bxox[abprs]-[A-Za-z0-9-]{11,255}
        | \bhf_[A-Za-z0-9]{30,100}
        | (?i:\bbearer\ {1,4})[A-Za-z0-9_~+/=-]{16,4000}(?:\.[A-Za-z0-9_~+/=-]{1,4000}){0,4}
        """,
        re.VERBOSE | re.ASCII,  # ASCII: a Chinese character before a token is a word's end
    ),
    word=16,
)
"""Tokens that show what they are by their form."""
ASSIGNED_SECRET: Final = Pattern(
    "secret",
    re.compile(
        r"""
        (?i:\b(?:api[ _-]?key|secret(?:[ _-]?key)?|access[ _-]?token|password|passwd|pwd)|密码|密钥)
        ["']?\s{0,3}(?:[:=：]|是|为)\s{0,3}["']?[^\s"',;，。；]{6,400}
        """,
        re.VERBOSE | re.ASCII,  # ASCII: a Chinese character before a token is a word's end
    ),
    marks=(":", "=", "：", "是", "为"),
    hints=("key", "secret", "token", "passw", "pwd", "密码", "密钥"),
)
"""A value that is named a secret."""
URL_PASSWORD: Final = Pattern(
    "secret",
    re.compile(r"(?<=://)[^\s:@/?#]{0,64}:[^\s@/?#]{3,256}(?=@)"),
    marks=("://",),
)
"""Name and password in the address of a database or a server."""
CHINA_ID: Final = Pattern(
    "china_id",
    re.compile(r"(?<![0-9A-Za-z])[1-9][0-9]{16}[0-9Xx](?![0-9A-Za-z])"),
    digits=17,
    check=is_china_id,
)
BANK_CARD: Final = Pattern(
    "bank_card",
    re.compile(r"(?<![0-9A-Za-z.-])[2-9][0-9]{3}(?:[ -]?[0-9]){9,15}(?![0-9A-Za-z])"),
    digits=13,
    check=_card,
)
IBAN: Final = Pattern(
    "iban",
    re.compile(r"(?<![0-9A-Za-z])[A-Z]{2}[0-9]{2}(?: ?[0-9A-Z]){11,30}(?![0-9A-Za-z])"),
    digits=8,
    check=is_iban,
)
PHONE: Final = Pattern(
    "phone",
    re.compile(
        r"(?<![0-9A-Za-z])(?:(?:\+|00)?86[ -]?)?1[3-9][0-9](?:[ -]?[0-9]{4}){2}(?![0-9A-Za-z])"
    ),
    digits=11,
)
EMAIL: Final = Pattern(
    "email",
    re.compile(
        r"(?<![\w.+-])[A-Za-z0-9._%+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}", re.ASCII
    ),
    marks=("@",),
)

ALWAYS: Final = (SECRET, ASSIGNED_SECRET, URL_PASSWORD, CHINA_ID, BANK_CARD, IBAN)
"""Never needed to judge an answer: hidden unless redaction is off."""
PERSONAL: Final = (PHONE, EMAIL)
"""Often facts an answer is about (a service number), so hidden only on request."""
ALL: Final = (*ALWAYS, *PERSONAL)
