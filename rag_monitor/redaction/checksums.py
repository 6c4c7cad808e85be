"""Check digits: what tells an identity or card number from any other long number."""

from __future__ import annotations

import datetime
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
