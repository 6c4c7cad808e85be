"""A message is English as it stands and can be said in every language with a catalogue."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path

import pytest

from rag_monitor.errors import BudgetExhausted, ConfigurationError, OutboundRefused, RuleError
from rag_monitor.i18n import Message, languages, made_of, recipe, translate
from rag_monitor.judges.limits import Overloaded


def test_it_is_its_english_sentence() -> None:
    said = Message("{count} traces are being assembled", count=3)

    assert said == "3 traces are being assembled"
    assert json.dumps(said) == '"3 traces are being assembled"'
    assert translate(said, "zh") == "正在组装 3 条请求"
    assert translate(said, "en") == translate(said, "xx") == "3 traces are being assembled"


def test_an_error_keeps_it() -> None:
    error = RuleError(Message("no alerts"))

    assert str(error) == "no alerts"
    assert translate(error, "zh") == "没有告警"
    assert translate(OSError("disk"), "zh") == "disk"


def test_an_error_takes_a_sentence_and_its_parameters() -> None:
    error = ConfigurationError("there is no file {path}", path=Path("a.csv"))

    assert str(error) == "there is no file a.csv"
    assert translate(error, "zh") == "没有文件 a.csv"


def test_an_error_within_an_error_is_translated_and_not_kept() -> None:
    inner = OutboundRefused("the URL has no host")
    error = ConfigurationError("[{name}]: {reason}", name="export", reason=inner)
    message = error.args[0]

    assert translate(error, "zh") == "[export]：URL 中没有主机"
    assert inner not in message.params.values()


def test_an_error_without_a_sentence_says_what_its_class_does() -> None:
    error = BudgetExhausted()

    assert str(error) == "The judging budget of this window is spent."
    assert translate(error, "zh") == "本时段的评审预算已用完"


def test_an_error_that_travelled_can_be_translated() -> None:
    error = Overloaded(
        "the judge's server answered {status}: {reason}",
        status=429,
        reason="later",
        retry_after_s=7.0,
    )

    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own

    assert str(again) == str(error)
    assert again.retry_after_s == 7.0
    assert translate(again, "zh") == "评审模型的服务器返回 429：later"


def test_messages_and_lists_within_it_are_translated_too() -> None:
    inner = Message("every app")
    said = Message("{rule} on {app}", rule=(Message("no alerts"), "mine"), app=inner)

    assert said == "no alerts, mine on every app"
    assert translate(said, "zh") == "所有应用 的 没有告警、mine"


def test_numbers_keep_their_form() -> None:
    said = Message("fired after {seconds:.1f} s", seconds=2)

    assert (said, translate(said, "zh")) == ("fired after 2.0 s", "2.0 秒后触发")


@pytest.mark.parametrize(("n", "english"), [(1, "1 item"), (2, "2 items"), (0, "0 items")])
def test_one_is_not_many(n: int, english: str) -> None:
    said = Message.counted("{n} item", "{n} items", n=n)

    assert (said, translate(said, "zh")) == (english, f"{n} 条")


def test_a_context_tells_equal_words_apart() -> None:
    assert translate(Message("read"), "zh") == "读取"
    assert translate(Message.within("doctor", "read"), "zh") == "已读取"


def test_a_copy_can_be_translated() -> None:
    said = Message.counted("{n} item", "{n} items", n=2)

    again = copy.deepcopy(said)

    assert (again, translate(again, "zh")) == (said, "2 条")


@pytest.mark.parametrize(
    "said",
    [
        Message("the judge did not answer within {limit:.1f} s", limit=30.0),
        Message("{name}: {item}", name="a", item=Message.counted("{n} item", "{n} items", n=2)),
        Message("Concentrated in {places}", places=(Message("release {value}", value="1"), "x")),
        Message.within("doctor", "read"),
        Message('give {"a": 1}'),
        Message(""),
    ],
)
def test_what_it_is_made_of_can_be_kept(said: Message) -> None:
    kept = json.loads(json.dumps(recipe(said)))

    again = made_of(kept, str.__str__(said))

    assert (again, translate(again, "zh")) == (said, translate(said, "zh"))


def test_text_of_others_has_no_recipe() -> None:
    assert recipe("read") is None


def test_text_without_parameters_may_hold_braces() -> None:
    assert translate(Message('give {"a": 1}'), "zh") == 'give {"a": 1}'
    assert translate(Message(""), "zh") == ""


def test_english_comes_first() -> None:
    assert languages() == ("en", "zh")
