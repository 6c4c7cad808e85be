"""A report as Markdown, for a pull request or a wiki."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from rag_monitor.metrics.latency import PERCENTILES
from rag_monitor.offline.report.model import Confusions, Report, WorstRow
from rag_monitor.offline.report.words import Words, ends, number, percent

_SPECIAL: Final = re.compile(r"([\\`*_\[\]<>|#&~!])")
_REASONS_SHOWN: Final = 3


def render_markdown(report: Report, language: str = "en") -> str:
    """The report as Markdown, in `en` or `zh`. Texts of the rows are escaped."""
    return "\n".join(_lines(report, Words(language))) + "\n"


def _lines(report: Report, t: Words) -> Iterator[str]:
    yield f"# {t('title')}: {safe(report.file)}\n"
    yield (
        f"{report.rows:,} {t('rows')} · {report.failed_rows:,} {t('failed_rows')} · "
        f"{t('judge')}: {safe(report.judge or t('no_judge'))} · {t.moment(report.created_at)}\n"
    )
    yield from _targets(report, t)
    yield from _metrics(report, t)
    yield from _groups(report, t)
    for confusion in report.confusions:
        yield from _confusion(confusion, t)
    if report.hit_rates:
        yield f"## {t('hit_rates')}\n"
        yield from table(
            (t("name"), t("rate"), t("interval")),
            (
                (key, number(figure.value), ends(figure.lower, figure.upper))
                for key, figure in report.hit_rates.items()
            ),
        )
    if report.reported:
        yield f"## {t('reported')}\n\n{t('reported_hint')}\n"
        yield from table(
            (t("name"), t("mean"), "n"),
            ((name, number(f.value), f"{f.n:,}") for name, f in report.reported.items()),
        )
    if report.worst:
        yield f"## {t('worst')} ({t('worst_by').format(t.metric(report.worst_by or ''))})\n"
        for row in report.worst:
            yield from _worst(row, t)
    if report.errors:
        yield f"## {t('errors')}\n"
        yield from (f"- {safe(t.error(error))}" for error in report.errors)
        yield ""
    if report.unread:
        yield f"## {t('unread')} ({report.unread_passages:,})\n"
        yield from (f"- {safe(t.error(passage))}" for passage in report.unread)
        yield ""
    yield f"## {t('notes')}\n"
    yield f"- {t('note_mean')}\n- {t('note_interval')}"
    yield from (f"- {safe(t.note(note))}" for note in report.notes)


def _targets(report: Report, t: Words) -> Iterator[str]:
    if report.targets:
        yield f"## {t('targets')}: {safe(report.profile_titles.get(t.language, ''))}\n"
        yield from table(
            (t("metric"), t("value"), t("target"), "", t("missing")),
            (
                (
                    t.metric(target.metric),
                    number(target.value),
                    target.bound,
                    t({True: "met", False: "missed", None: "unmeasured"}[target.met]),
                    percent(target.missing_share),
                )
                for target in report.targets
            ),
        )


def _metrics(report: Report, t: Words) -> Iterator[str]:
    if report.metrics:
        yield f"## {t('metrics')}\n"
        yield from table(
            (t("metric"), t("mean"), t("interval"), t("scored"), t("without")),
            (
                (
                    t.metric(metric.name),
                    number(metric.mean),
                    ends(metric.lower, metric.upper),
                    f"{metric.scored:,}",
                    _reasons(metric.reasons, t),
                )
                for metric in report.metrics
            ),
        )
    if report.latencies:
        yield f"## {t('percentiles')}\n"
        yield from table(
            (t("metric"), *PERCENTILES, "n"),
            (
                (
                    t.metric(name),
                    *(number(getattr(latency, p)) for p in PERCENTILES),
                    f"{latency.n:,}",
                )
                for name, latency in report.latencies.items()
            ),
        )
    if report.corpus:
        yield f"## {t('corpus')}\n"
        yield from table(
            (t("metric"), t("value"), t("interval")),
            (
                (t.metric(name), number(figure.value), ends(figure.lower, figure.upper))
                for name, figure in report.corpus.items()
            ),
        )


def _groups(report: Report, t: Words) -> Iterator[str]:
    for facet, groups in report.groups.items():
        names = list(dict.fromkeys(name for group in groups for name in group.means))
        yield f"## {t(f'by_{facet}')}\n"
        yield from table(
            (t("name"), t("rows"), *(t.metric(name) for name in names)),
            (
                (
                    group.name,
                    f"{group.rows:,}",
                    *(number(f.value if (f := group.means.get(name)) else None) for name in names),
                )
                for group in groups
            ),
        )


def _confusion(confusion: Confusions, t: Words) -> Iterator[str]:
    yield f"## {t(f'confusion_{confusion.title}')} (n = {confusion.rows:,})\n"
    columns = ("precision", "recall", "false_positive_rate", "false_negative_rate", "f1")
    yield from table(
        (t("label"), "TP", "FP", "FN", "TN", *(t(name) for name in columns)),
        (
            (
                t.label(confusion.title, rate.name),
                *(str(count) for count in (rate.tp, rate.fp, rate.fn, rate.tn)),
                *(number(getattr(rate, name)) for name in columns),
            )
            for rate in confusion.rates
        ),
    )
    averages = (f"{t(name)} {number(f.value)}" for name, f in confusion.averages.items())
    yield " · ".join(averages) + "\n"


def _worst(row: WorstRow, t: Words) -> Iterator[str]:
    answer = "".join(
        f" **⟦{safe(stretch.text)}⟧** " if stretch.unsupported else safe(stretch.text)
        for stretch in row.answer
    )
    yield f"- **{number(row.value)}** {safe(row.id)}"
    if row.question:
        yield f"  - {t('question')}: {safe(row.question)}"
    yield f"  - {t('answer')}: {answer}"
    if row.reference:
        yield f"  - {t('reference')}: {safe(row.reference)}"
    yield ""


def table(head: Sequence[str], rows: Iterator[Sequence[str]]) -> Iterator[str]:
    """A table, line by line; cells are escaped."""
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield "| " + " | ".join(safe(cell) for cell in row) + " |"
    yield ""


def _reasons(reasons: object, t: Words) -> str:
    items = list(reasons.items())[:_REASONS_SHOWN] if isinstance(reasons, dict) else []
    return ", ".join(f"{t.reason(word)} {count:,}" for word, count in items)


def safe(text: str) -> str:
    """Text that cannot become markup, a table cell or a second line."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))
