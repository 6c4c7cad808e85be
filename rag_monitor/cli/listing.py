"""`rag-monitor traces` and `rag-monitor sessions`: find them by every filter, in any order."""

from __future__ import annotations

from itertools import islice
from typing import Annotated, Any, Final

import typer

from rag_monitor.cli.filtering import Ordered, Since, Sort, Until, parameters_of, with_filters
from rag_monitor.cli.output import AsJson, print_json, print_line
from rag_monitor.cli.remote import DEFAULT_URL, ApiKey, Remote, Url
from rag_monitor.cli.words import LanguageOption, minute, say
from rag_monitor.domain.filters import Order, TraceSort
from rag_monitor.i18n import ENGLISH, Message, msgid

_LONGEST: Final = 100
"""Characters of a question in a line."""
_A_PAGE: Final = 200
_ENDED: Final = {True: msgid("resolved"), False: msgid("not resolved")}
Limit = Annotated[int, typer.Option(min=1, max=100_000, help="Stop after so many.")]


@with_filters
def traces(
    *,
    q: Annotated[str | None, typer.Option("--q", help="Text of the question.")] = None,
    since: Since = None,
    until: Until = None,
    sort: Sort = TraceSort.TIME,
    order: Ordered = Order.DESC,
    limit: Limit = 50,
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
    language_of_output: LanguageOption = ENGLISH,
    as_json: AsJson = False,
    **filters: Any,
) -> None:
    """List traces that fit all filters: id, time, app, status, latency, scores and question."""
    del language_of_output  # chosen for all that is said below
    query = parameters_of(filters | {"q": q, "from": since, "to": until})
    query |= {"sort": sort.value, "order": order.value}
    _list("/api/v1/traces", query, limit, url, api_key, as_json, _trace_line)


@with_filters
def sessions(
    *,
    resolved: Annotated[
        bool | None,
        typer.Option(
            "--resolved/--not-resolved",
            help="Only sessions that are, or are not, resolved.",
            show_default=False,
        ),
    ] = None,
    since: Since = None,
    until: Until = None,
    sort: Sort = TraceSort.TIME,
    order: Ordered = Order.DESC,
    limit: Limit = 50,
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
    language_of_output: LanguageOption = ENGLISH,
    as_json: AsJson = False,
    **filters: Any,
) -> None:
    """List sessions with a turn that fits all filters: id, time, turns and whether resolved."""
    del language_of_output  # chosen for all that is said below
    given = filters | {"resolved": resolved, "from": since, "to": until}
    query = parameters_of(given, sessions=True)
    query |= {"sort": sort.value, "order": order.value}
    _list("/api/v1/sessions", query, limit, url, api_key, as_json, _session_line)


def _list(
    path: str,
    query: dict[str, str],
    limit: int,
    url: str,
    api_key: str,
    as_json: bool,
    line: Any,
) -> None:
    query["limit"] = str(min(limit, _A_PAGE))
    with Remote(url, api_key) as monitor:
        rows = list(islice(monitor.pages(path, query), limit))
    if as_json:
        print_json({"items": rows})
        return
    for row in rows:
        print_line(line(row))
    if not rows:
        print_line(say("nothing fits"))


def _trace_line(row: dict[str, Any]) -> str:
    latency = row["end_to_end_ms"]
    scores = " ".join(
        f"{metric}={value:.2f}" for metric, value in row["scores"].items() if value is not None
    )
    took = "–" if latency is None else f"{latency:.0f} ms"
    parts = (row["trace_id"], minute(row["started_at"]), row["app"], row["status"], took, scores)
    return "  ".join(part for part in (*parts, _shown(row["question"])) if part)


def _session_line(row: dict[str, Any]) -> str:
    turns = say(Message.counted("{n} turn", "{n} turns", n=row["session_turns"]))
    ended = "" if row["resolved"] is None else say(_ENDED[row["resolved"]])
    texts = (_shown(row["session_id"]), _shown(row["first_question"]))
    parts = (minute(row["last_at"]), turns, ended, *texts)
    return "  ".join(part for part in parts if part)


def _shown(text: str | None) -> str:
    """A text on one line, without what a terminal would obey."""
    line = " ".join((text or "").split())
    safe = "".join(one if one.isprintable() else "\N{REPLACEMENT CHARACTER}" for one in line)
    return safe if len(safe) <= _LONGEST else f"{safe[: _LONGEST - 1]}…"
