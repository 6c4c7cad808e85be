"""What is wrong with rows and files is said in the language of whoever has to mend them."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator

import pytest

from rag_monitor.offline.problems import problem
from rag_monitor.offline.report.words import Words

_RAISING = (
    "rag_monitor.ingest.fields",
    "rag_monitor.ingest.trace_json",
    "rag_monitor.ingest.strict_json",
    "rag_monitor.ingest.rows",
    "rag_monitor.offline.rows",
    "rag_monitor.offline.cells",
    "rag_monitor.offline.passages",
    "rag_monitor.offline.workbook",
    "rag_monitor.metrics.text.tokens",
    "rag_monitor.offline.encodings",
    "rag_monitor.offline.labelled",
    "rag_monitor.offline.file_run",
    "rag_monitor.offline.calibration",
    "rag_monitor.offline.lines",
    "rag_monitor.offline.paired",
    "rag_monitor.offline.report.files",
    "rag_monitor.offline.selection",
    "rag_monitor.offline.refusals",
    "rag_monitor.judges.limits",
    "rag_monitor.judges.parsing",
    "rag_monitor.judges.openai_compatible.transport",
    "rag_monitor.judges.openai_compatible.capabilities",
    "rag_monitor.judges.openai_compatible.chat_reply",
    "rag_monitor.judges.openai_compatible.structured_prompt",
    "rag_monitor.judges.openai_compatible.structured",
    "rag_monitor.judges.openai_compatible.probe",
    "rag_monitor.judges.openai_compatible.served_model",
    "rag_monitor.judges.openai_compatible.structured",
    "rag_monitor.judges.openai_compatible.transport",
    "rag_monitor.judges.openai_compatible.scoring_methods",
)
_ERRORS = {
    "MalformedPayload",
    "PayloadTooLarge",
    "ConfigurationError",
    "RagMonitorError",
    "UnknownMetric",
    "UnreadableField",
    "EverythingRefused",
    "JudgeOutputInvalid",
    "JudgeTimeout",
    "JudgeUnavailable",
    "PoisonRequest",
    "ReplyCut",
    "ReplyRefusedError",
    "ReplyWithheld",
    "TooLong",
}
_FAIL = "fail"


def _sentences() -> Iterator[str]:
    for name in _RAISING:
        path = importlib.import_module(name).__file__
        assert path is not None
        with open(path, encoding="utf-8") as source:  # noqa: PTH123 - a path as text
            tree = ast.parse(source.read())
        for call in ast.walk(tree):
            if not isinstance(call, ast.Call) or not call.args:
                continue
            if isinstance(call.func, ast.Name) and call.func.id in _ERRORS:
                yield _filled(call.args[0])
            if isinstance(call.func, ast.Name) and call.func.id == "at_fault":
                yield f"`answer` must be {_filled(call.args[1])}"
            if isinstance(call.func, ast.Attribute) and call.func.attr == _FAIL:
                yield f"`answer` must be {_filled(call.args[1])}, not 5"


def _filled(node: ast.expr) -> str:
    """The sentence with numbers for what is filled in; places are places in every form."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(
            _filled(part) if isinstance(part, ast.Constant) else _sample(part)
            for part in node.values
        )
    if isinstance(node, ast.Name):
        return {"wanted": "an ISO 8601 time, e.g. 2026-01-05T12:00:00Z"}.get(node.id, "7")
    return "7"


def _sample(part: ast.expr) -> str:
    text = ast.unparse(part)
    if isinstance(part, ast.FormattedValue) and part.conversion == ord("r"):
        return "'7'"
    if text.startswith("{did_you_mean("):
        return " (did you mean 'plugin'?)"
    return "a string" if text == "{wanted}" else "7"


SENTENCES = sorted(set(_sentences()) - {"7"})  # a sentence that was made elsewhere


def test_there_are_sentences_to_look_at() -> None:
    assert len(SENTENCES) > 40


@pytest.mark.parametrize("sentence", SENTENCES)
def test_every_sentence_of_the_readers_has_its_chinese(sentence: str) -> None:
    said = problem(sentence, "zh")

    assert re.search("[一-鿿]", said), sentence
    assert problem(sentence, "en") == sentence


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        (
            "row 3: `answer` must be a string, not ['a']",
            "第 3 行数据：`answer` 须为字符串，不能是 ['a']",
        ),
        ("line 2: not JSON: <b> at 1", "第 2 行：不是有效的 JSON：<b> at 1"),
        (
            "line 9: a trace needs a `question` and an `answer` (null where they are withheld);"
            " this one has `frage`, `<x>` and 3 more",
            "第 9 行：一条请求须有 `question` 和 `answer`（不便提供时为 null）；"
            "这一条有 `frage`, `<x>` 及另外 3 个",
        ),
        ("not stored: 5 rows in one request; send at most 3", "未存入：一次发送了 5 行；最多 3 行"),
        (
            "there is no metric 'blue' (did you mean 'bleu'?); there are bleu, rouge",
            "没有指标 'blue'（是否想用 'bleu'？）；可用：bleu, rouge",
        ),
        ("Something else", "Something else"),
    ],
)
def test_parts_of_a_sentence_are_said_one_in_the_other(english: str, chinese: str) -> None:
    assert problem(english, "zh") == chinese


@pytest.mark.parametrize(
    ("error", "chinese"),
    [
        ("r7: row 8: not a JSON object", "r7：第 8 行数据：不是 JSON 对象"),
        (
            "row 8: the JSON is nested too deeply; flatten it",
            "第 8 行数据：JSON 嵌套过深；请减少层次",
        ),
        ("r7: judge_timeout; judge_refused", "r7：评审模型超时；评审模型的服务器拒绝访问"),
        ("r7: odd: thing", "r7：odd: thing"),
        (
            "r7: the judge's server answered 429: <b>slow</b>; other requests are answered",
            "r7：评审模型的服务器返回 429：<b>slow</b>；其他请求正常",
        ),
        (
            "r7: the judge's server answered 200 with an error inside (402): 余额不足",
            "r7：评审模型的服务器返回 200，但内容是错误 402：余额不足",
        ),
    ],
)
def test_why_a_row_failed_is_told_in_the_language_of_the_report(error: str, chinese: str) -> None:
    assert Words("zh").error(error) == chinese
    assert Words("en").error(error) == error
