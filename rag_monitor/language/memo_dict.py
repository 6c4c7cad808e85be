"""What was worked out about short texts that recur, such as words."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class MemoDict(dict[str, Value], Generic[Value]):
    """A text to what was worked out for it; forgets everything when it grows too large.

    A look-up costs a third of an `lru_cache` call, and words are looked up more than anything else.

    Args:
        work_out: Depends on the text alone; two threads may both call it.
        largest: How many texts are kept.
        longest: A longer text is worked out anew each time.
    """

    def __init__(
        self, work_out: Callable[[str], Value], *, largest: int, longest: int = sys.maxsize
    ) -> None:
        super().__init__()
        self._work_out = work_out
        self._largest = largest
        self._longest = longest

    def __missing__(self, text: str) -> Value:
        value = self._work_out(text)
        if len(text) <= self._longest:
            if len(self) >= self._largest:
                self.clear()
            self[text] = value
        return value
