"""Reports in every form and both languages, from rows that try to break them."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from rich.console import Console

from rag_monitor.domain.judgement import Aspect, Judgement, JudgeRequest, Verdict
from rag_monitor.errors import ConfigurationError
from rag_monitor.i18n import Message
from rag_monitor.metrics.targets import load_profile
from rag_monitor.offline.file_run import FileEvaluation
from rag_monitor.offline.report.files import check_report, render_html, write_report
from rag_monitor.offline.report.markdown import render_markdown
from rag_monitor.offline.report.model import Report
from rag_monitor.offline.report.terminal import print_report
from rag_monitor.offline.report.words import Words
from rag_monitor.offline.run_settings import FileOptions
from rag_monitor.testing import EPOCH, ScriptedJudge

HOSTILE = "<script>alert(1)</script><img src=http://evil.example/x onerror=alert(2)> {{ 7*7 }}"
HELD, MADE_UP = "The warranty lasts 24 months.", "It also covers theft."


class Tags(HTMLParser):
    """Every element and attribute of a page, and whether elements are closed in order."""

    VOID = frozenset({"meta", "br", "img", "link"})

    def __init__(self, page: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []
        self._open: list[str] = []
        self.feed(page)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes += attrs
        if tag not in self.VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag


def _judgement(request: JudgeRequest) -> Judgement:
    """Holds one sentence, not the other."""
    cut = len(HELD)
    verdicts = (
        Verdict(aspect=Aspect.SUPPORT, probability=0.95, index=0, start=0, end=cut),
        Verdict(
            aspect=Aspect.SUPPORT, probability=0.05, index=1, start=cut + 1, end=len(request.answer)
        ),
        Verdict(aspect=Aspect.ANSWER_SUPPORTED, probability=0.1, index=0),
    )
    return Judgement(identity=ScriptedJudge().identity, verdicts=verdicts)


@pytest.fixture
async def report(tmp_path: Path) -> Report:
    rows = [
        {
            "id": f"{HOSTILE} {n}",
            "app": f"app {n % 3} {HOSTILE}",
            "question": f"保修多久? {HOSTILE}",
            "answer": f"{HELD} {MADE_UP}{HOSTILE if n == 0 else ''}",
            "reference": "The warranty lasts 24 months.",
            "contexts": [HOSTILE, "The warranty lasts 24 months."],
            "context_labels": [0, 1],
            "label_faithful": n % 2,
            "label": HOSTILE,
            "predicted": "other|label",
            "hits": [{"kind": "plugin", "name": f"a/b {HOSTILE}"}],
            "expected": {"plugin": ["a"]},
        }
        for n in range(6)
    ]
    path = tmp_path / "rows.jsonl"
    lines = [json.dumps(row, ensure_ascii=False) for row in rows] + ["{broken " + HOSTILE]
    path.write_text("\n".join(lines), encoding="utf-8")
    run = FileEvaluation(path, FileOptions(processes=0), ScriptedJudge(_judgement))
    await run.run()
    return run.tally.report(
        file=HOSTILE,
        created_at=EPOCH,
        judge="scripted",
        profile=load_profile("rag"),
        notes=run.notes(),
    )


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_page_is_one_file_without_scripts_or_requests(report: Report, language: str) -> None:
    tags = Tags(render_html(report, language))

    assert not tags.names & {"script", "img", "link", "iframe", "object", "form"}
    assert {"svg", "mark", "details", "table"} <= tags.names
    names = {name for name, _ in tags.attributes}
    assert not names & {"src", "href", "onerror", "onload", "onclick"}
    policy = dict(tags.attributes)["content"]
    assert policy is not None
    assert any(value and "default-src 'none'" in value for _, value in tags.attributes)


@pytest.mark.parametrize("render", [render_html, render_markdown])
def test_the_time_of_a_report_is_told_to_people(
    report: Report, render: Callable[[Report], str]
) -> None:
    elsewhere = replace(report, created_at="2026-01-05T20:00:00+08:00")

    assert "2026-01-05 12:00 UTC" in render(report)
    assert "2026-01-05 20:00 UTC+08:00" in render(elsewhere)
    assert "+00:00" not in render(report)


def test_text_of_rows_is_shown_and_never_run(report: Report) -> None:
    page = render_html(report)

    assert "&lt;script&gt;alert(1)" in page
    assert "{{ 7*7 }}" in page
    assert "url(" not in page


def test_unsupported_sentences_are_marked_and_held_ones_are_not(report: Report) -> None:
    page = render_html(report)

    marked = re.findall(r"<mark[^>]*>(.*?)</mark>", page)
    assert marked
    assert all(MADE_UP in text and HELD not in text for text in marked)


def test_the_chinese_page_speaks_chinese(report: Report) -> None:
    page = render_html(report, "zh")

    assert '<html lang="zh-CN">' in page
    for word in ("评测报告", "忠实度", "混淆矩阵", "最差的行", "未达标", "评审模型可信吗"):
        assert word in page
    assert "Worst rows" not in page


def test_names_and_units_are_translated_within_a_name() -> None:
    words = Words("zh")

    assert words.metric("rouge_l") == "ROUGE-L"
    assert words.metric("rouge_l_characters_recall") == "ROUGE-L 召回率（字）"
    assert words.metric("first_byte_ms_p90") == "首字时延 p90（毫秒）"
    assert words.metric("my_own_metric") == "my_own_metric"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_markdown_tables_stay_tables(report: Report, language: str) -> None:
    text = render_markdown(report, language)

    widths: list[int] = []
    for line in text.splitlines():
        if line.startswith("|"):
            widths.append(len(re.findall(r"(?<!\\)\|", line)))
            assert widths[-1] == widths[0]
        else:
            widths = []
    assert "<script" not in text.replace("\\<script", "")
    assert f"⟦{MADE_UP}" in text


def test_json_holds_everything_the_page_shows(report: Report, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    write_report(report, path)

    content = json.loads(path.read_text("utf-8"))
    assert content["metrics"]["faithfulness"]["mean"] == pytest.approx(0.5)
    assert content["metrics"]["faithfulness"]["scored"] == 6
    assert content["reliability"]["n"] == 6
    assert content["worst"][0]["answer"][1]["text"] == " "
    assert content["failed_rows"] == 1


def test_the_terminal_shows_figures_and_lets_no_row_steer_it(report: Report) -> None:
    out = io.StringIO()
    print_report(report, "en", Console(file=out, width=120, highlight=False))

    assert "Faithfulness" in out.getvalue()
    assert "missed" in out.getvalue()
    assert "\x1b" not in out.getvalue()


@pytest.mark.parametrize(
    ("path", "language", "said"),
    [("r.pdf", "en", "--report writes"), ("r.html", "fr", "en or zh"), ("no/r.md", "en", "folder")],
)
def test_what_cannot_be_written_is_said_first(path: str, language: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        check_report(Path(path), language)


def test_a_report_without_rows_still_renders(tmp_path: Path) -> None:
    path = tmp_path / "empty.jsonl"
    path.write_text("", encoding="utf-8")
    run = FileEvaluation(path, FileOptions(metrics=("bleu_4", "ndcg")), None)
    empty = run.tally.report(file="empty.jsonl", created_at=EPOCH)

    assert "empty.jsonl" in render_html(empty)
    assert "empty.jsonl" in render_markdown(empty, "zh")


def at_row(number: int, reason: str) -> Message:
    return Message("row {number}: {reason}", number=number, reason=reason)


def of(name: str, reason: str) -> Message:
    return Message("{name}: {reason}", name=name, reason=reason)


@pytest.mark.parametrize(
    ("error", "chinese"),
    [
        (of("r7", at_row(8, Message("not a JSON object"))), "r7：第 8 行数据：不是 JSON 对象"),
        (
            at_row(8, Message("the JSON is nested too deeply; flatten it")),
            "第 8 行数据：JSON 嵌套过深；请减少层次",
        ),
        (
            of("r7", Message("{one}; {other}", one="judge_timeout", other="judge_refused")),
            "r7：评审模型超时；评审模型的服务器拒绝访问",
        ),
        (of("r7", "odd: thing"), "r7：odd: thing"),
        ("from a file of yesterday", "from a file of yesterday"),
    ],
)
def test_why_a_row_failed_is_told_in_the_language_of_the_report(error: str, chinese: str) -> None:
    assert Words("zh").error(error) == chinese
    assert Words("en").error(error) == error
