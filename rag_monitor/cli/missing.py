"""How many rows of a gate may be without a score, and what is said where more are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final

import typer

from rag_monitor.cli.output import print_problem
from rag_monitor.cli.words import chosen
from rag_monitor.i18n import Message

DEFAULT: Final = "5%"
_REASONS_SHOWN: Final = 3


def share_of(text: str) -> float:
    """A share that is written in percent, or as a number from 0 to 1.

    Raises:
        BadParameter: It is none.
    """
    percent = text.strip().endswith("%")
    try:
        number = float(text.strip().removesuffix("%"))
    except ValueError:
        number = float("nan")
    share = number / 100 if percent else number
    if not 0.0 <= share <= 1.0:
        message = Message("{text}: write a share such as 5% or 0.05, from 0 to 100%", text=text)
        raise typer.BadParameter(message)
    return share


MaxMissing = Annotated[
    float,
    typer.Option(
        "--max-missing",
        parser=share_of,
        metavar="SHARE",
        help="Share of rows that may be without a score; exit 1 where more are.",
    ),
]


def tell_missing(
    text: str,
    /,
    share: float,
    reasons: Mapping[str, int],
    most: float,
    **params: object,
) -> None:
    """Say on stderr that too much is missing, and why.

    Args:
        text: What is missing, with the parameters `share`, `allowed` and `reasons`.
        share: How much of it, 0 to 1.
        reasons: How often, by why.
        most: How much may be.
        params: Further parameters of the text.
    """
    from rag_monitor.offline.report.words import Words, percent

    words = Words(chosen())
    listed = [f"{words.reason(reason)} {count}" for reason, count in reasons.items()]
    why = words.joined([*listed[:_REASONS_SHOWN], *(["…"] if len(listed) > _REASONS_SHOWN else [])])
    allowed = percent(most) or "0%"
    print_problem(
        text,
        share=percent(share),
        allowed=allowed,
        reasons=why,
        **params,
    )
