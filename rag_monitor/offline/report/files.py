"""Writes a report in the form that the file name asks for; HTML needs neither script nor font."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from rag_monitor.charts.scores import histogram, interval_bar, reliability
from rag_monitor.errors import ConfigurationError
from rag_monitor.i18n import languages
from rag_monitor.offline.report.markdown import render_markdown
from rag_monitor.offline.report.model import Figure, MetricReport, Report
from rag_monitor.offline.report.words import Words, number, percent
from rag_monitor.offline.selection import SMALLER_IS_BETTER, UNBOUNDED

KINDS: Final = (".html", ".md", ".json")
_CARDS: Final = 8
_GROUP_METRICS: Final = 6
_CARD_ORDER: Final = (
    "faithfulness",
    "answer_supported",
    "answer_relevance",
    "context_precision",
    "context_recall",
    "context_relevance",
    "answer_correctness",
    "rouge_l",
    "bleu_4",
    "token_f1",
    "exact_match",
    "bertscore_f1",
    "ndcg",
    "average_precision",
    "perplexity",
    "end_to_end_ms",
)


def render_html(report: Report, language: str = "en") -> str:
    """The report as one page, in `en` or `zh`. Every text of the rows is escaped."""
    return (
        environment()
        .get_template("report.html.j2")
        .render(
            report=report,
            t=Words(language),
            histogram=histogram,
            interval_bar=interval_bar,
            reliability=reliability,
            cards=_cards(report),
            families=_families(report),
            bounds={target.metric: target for target in report.targets},
            facets=_facets(report),
            low=SMALLER_IS_BETTER,
            unbounded=UNBOUNDED,
            share=_share,
        )
    )


def environment() -> Environment:
    """Templates of reports; every text of the rows is escaped."""
    templates = Environment(
        loader=PackageLoader("rag_monitor.offline.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters.update(number=number, percent=percent)
    return templates


def _cards(report: Report) -> list[MetricReport]:
    """The figures to show first: those of the targets, then the usual ones."""
    wanted = [target.metric for target in report.targets]
    by_name = {metric.name: metric for metric in report.metrics if metric.mean is not None}
    order = dict.fromkeys([*wanted, *_CARD_ORDER, *by_name])
    return [by_name[name] for name in order if name in by_name][:_CARDS]


def _families(report: Report) -> dict[str, list[MetricReport]]:
    families: dict[str, list[MetricReport]] = {}
    for metric in report.metrics:
        families.setdefault(metric.family, []).append(metric)
    return families


def _facets(report: Report) -> dict[str, dict[str, list[tuple[str, Figure]]]]:
    """Facet to metric to the groups' means; metrics that no group has are left out."""
    scored = {metric.name for metric in report.metrics if metric.mean is not None}
    order = dict.fromkeys([*_CARD_ORDER, *(metric.name for metric in report.metrics)])
    names = [name for name in order if name in scored and name not in UNBOUNDED]
    return {
        facet: {
            name: [(group.name, group.means[name]) for group in groups if name in group.means]
            for name in names[:_GROUP_METRICS]
            if any(name in group.means for group in groups)
        }
        for facet, groups in report.groups.items()
    }


def _share(count: int, row: tuple[int, ...]) -> Any:
    """A cell's share of its row in a confusion matrix, for its shade."""
    whole = sum(row)
    return round(count / whole, 3) if whole else 0


def check_report(path: Path | None, language: str) -> None:
    """Refuse what cannot be written before any work is done.

    Raises:
        ConfigurationError: An unknown kind of file or language, or a folder that is not there.
    """
    if language not in languages():
        raise ConfigurationError(
            "--language is {languages}, not {language!r}",
            languages=" or ".join(languages()),
            language=language,
        )
    if path is None:
        return
    if path.suffix not in KINDS:
        raise ConfigurationError(
            "--report writes {kinds} files, not {suffix}",
            kinds=", ".join(KINDS),
            suffix=path.suffix or path,
        )
    if not path.absolute().parent.is_dir():
        raise ConfigurationError(
            "--report: there is no folder {folder}", folder=path.absolute().parent
        )


def write_report(report: Report, path: Path, language: str = "en") -> None:
    """Write `report` to `path`: `.html`, `.md` or `.json`."""
    if path.suffix == ".json":
        text = json.dumps(report.as_dict(), ensure_ascii=False, indent=2) + "\n"
    elif path.suffix == ".md":
        text = render_markdown(report, language)
    else:
        text = render_html(report, language)
    path.write_bytes(text.encode("utf-8", "replace"))
