"""Requests that a server does not take, and replies that it does not give, whoever asks."""

from __future__ import annotations

from rag_monitor.errors import JudgeOutputInvalid


class RequestRefused(JudgeOutputInvalid):
    """The server does not take a request of this shape or size.

    Args:
        text: What to show, with `params`.
        words: All that the server said, codes included: what tells which shape it would take.
    """

    reason = "request_refused"

    def __init__(self, text: str | None = None, /, *, words: str = "", **params: object) -> None:
        super().__init__(text, **params)
        self.words = words or str(self)


class TooLong(RequestRefused):
    """The request does not fit into the model's context."""

    reason = "input_too_long"


class ReplyWithheld(JudgeOutputInvalid):
    """A content filter, or the model itself, declines this trace; asked again it would again."""

    reason = "reply_withheld"


class ReplyCut(JudgeOutputInvalid):
    """The model thinks for longer than there is room for, and never comes to its reply."""

    reason = "reply_cut"


FINAL = (RequestRefused, ReplyWithheld, ReplyCut)
"""The same question, or a part of it, would bring the same."""
