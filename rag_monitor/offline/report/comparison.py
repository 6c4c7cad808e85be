"""The report of a comparison: HTML, Markdown or JSON, by the name of the file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from rag_monitor.offline.paired import Comparison, MetricDifference
from rag_monitor.offline.report.files import environment
from rag_monitor.offline.report.markdown import safe, table
from rag_monitor.offline.report.words import Words, ends, number, percent


def write_comparison(
    comparison: Comparison, names: Sequence[str], path: Path, language: str = "en"
) -> None:
    """Write it to `path`: `.html`, `.md` or `.json`; `names` are those of the files A and B."""
    if path.suffix == ".json":
        text = json.dumps(comparison.as_dict(), ensure_ascii=False, indent=2) + "\n"
    elif path.suffix == ".md":
        text = "\n".join(_lines(comparison, names, Words(language))) + "\n"
    else:
        page = environment().get_template("comparison.html.j2")
        text = page.render(found=comparison, names=names, t=Words(language), signed=signed)
    path.write_bytes(text.encode("utf-8", "replace"))


def signed(value: float | None) -> str:
    """A difference with its sign."""
    return "–" if value is None else f"{value:+.3f}".replace("-", "−")


def _lines(comparison: Comparison, names: Sequence[str], t: Words) -> Iterator[str]:
    yield f"# {t('comparison')}: {safe(names[0])} → {safe(names[1])}\n"
    yield (
        f"{comparison.rows:,} {t('rows')} · "
        f"{comparison.only_a + comparison.only_b:,} {t('not_paired')}\n"
    )
    yield from table(
        (t("metric"), t("pairs"), "A", "B", t("b_minus_a"), t("interval"), "▲ / ▼", "",
         t("missing")),
        (_cells(row, t) for row in comparison.metrics),
    )  # fmt: skip
    if comparison.regressions:
        yield f"## {t('regressions')}\n"
        yield from table(
            (t("row"), t("metric"), "A", "B", t("loss"), t("question")),
            (
                (
                    lost.id,
                    t.metric(lost.metric),
                    number(lost.a),
                    number(lost.b),
                    number(lost.loss),
                    lost.question or "–",
                )
                for lost in comparison.regressions
            ),
        )


def _cells(row: MetricDifference, t: Words) -> Sequence[str]:
    return (
        t.metric(row.metric),
        f"{row.rows:,}",
        number(row.a),
        number(row.b),
        signed(row.difference),
        ends(row.lower, row.upper),
        f"{row.better} / {row.worse}",
        t(row.verdict),
        percent(row.missing_share),
    )
