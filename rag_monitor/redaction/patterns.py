"""What is searched for: one pattern per kind, a checksum where the kind has one.

`may_occur` answers quickly whether a text can contain the kind at all; most texts cannot, and then no
regular expression runs. Every pattern is linear: no nested repetition over the same characters.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from rag_monitor.redaction.checksums import is_china_id, is_iban, is_luhn

_DIGIT_CLASS: Final = bytes(0x30 if 0x30 <= code <= 0x39 else 0x2E for code in range(256))
_SEPARATORS: Final = b" -"


def _always(_: str) -> bool:
    return True


def digit_skeleton(text: str) -> bytes:
    """`text` with every digit as 0 and anything else as a dot, separators of numbers removed."""
    return text.encode("utf-8", "replace").translate(_DIGIT_CLASS, _SEPARATORS)


@dataclass(frozen=True, slots=True)
class Pattern:
    """One kind of thing to hide."""

    kind: str
    expression: re.Pattern[str]
    hints: tuple[str, ...] = ()
    """Lower-case substrings, one of which must be there."""
    digits: int = 0
    """Or: a run of this many digits must be there."""
    check: Callable[[str], bool] = _always

    def may_occur(self, lowered: str, skeleton: bytes) -> bool:
        """Whether it is worth running the expression."""
        if self.digits and b"0" * self.digits not in skeleton:
            return False
        return not self.hints or any(hint in lowered for hint in self.hints)


def _card(text: str) -> bool:
    digits = re.sub(r"[ -]", "", text)
    return 13 <= len(digits) <= 19 and is_luhn(digits)


SECRET: Final = Pattern(
    "secret",
    re.compile(
        r"""
        -----BEGIN[ A-Z]{0,40}PRIVATE\ KEY-----[A-Za-z0-9+/=\s:,\-]{0,8000}?-----END[ A-Z]{0,40}-----
        | \beyJ[A-Za-z0-9_-]{8,4000}\.eyJ[A-Za-z0-9_-]{4,8000}\.[A-Za-z0-9_-]{4,4000}
        | \b(?:AKIA|ASIA)[0-9A-Z]{16}\b
        | \bLTAI[0-9A-Za-z]{12,26}\b
        | \bAIza[0-9A-Za-z_-]{35}
        | \b(?:sk|pk|rk)-[A-Za-z0-9_-]{16,200}
        | \b(?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9]{10,200}
        | \b(?:ghp|gho|ghu|ghs|ghr)_[A-Za-z0-9]{30,255}
        | \bgithub_pat_[A-Za-z0-9_]{30,255}
        | \bglpat-[A-Za-z0-9_-]{16,255}
        | \bxox[abprs]-[A-Za-z0-9-]{10,255}
        | \bhf_[A-Za-z0-9]{30,100}
        | (?i:\bbearer\ +)[A-Za-z0-9._~+/=-]{16,4000}
        | (?i:\b(?:api[_-]?key|secret(?:[_-]?key)?|access[_-]?token|password|passwd|pwd|密码|密钥)
            ["']?\s{0,3}[:=：]\s{0,3}["']?)[^\s"',;，。；]{6,400}
        """,
        re.VERBOSE,
    ),
    hints=(
        "-----begin", "eyj", "akia", "asia", "ltai", "aiza", "sk-", "pk-", "rk-", "sk_", "pk_",
        "rk_", "gho_", "ghp_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xox", "hf_",
        "bearer", "key", "secret", "token", "passw", "pwd", "密码", "密钥",
    ),
)  # fmt: skip
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
    digits=4,
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
    re.compile(r"(?<![\w.+-])[A-Za-z0-9._%+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}"),
    hints=("@",),
)

ALWAYS: Final = (SECRET, CHINA_ID, BANK_CARD, IBAN)
"""Never needed to judge an answer: hidden unless redaction is off."""
PERSONAL: Final = (PHONE, EMAIL)
"""Often facts an answer is about (a service number), so hidden only on request."""
ALL: Final = (*ALWAYS, *PERSONAL)
