"""What is wrong with the settings, the database or a command line is told in Chinese, too.

Wholly: a parameter that is an English sentence would show.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rag_monitor.cli import usage
from rag_monitor.config import load_settings
from rag_monitor.errors import ConfigurationError, OutboundRefused, RagMonitorError
from rag_monitor.i18n import translate
from rag_monitor.judges.factory import check_tables, make_judge
from rag_monitor.store.options import StoreOptions
from rag_monitor.store.store import Store
from rag_monitor.testing import ManualClock
from tests.unit.cli.test_commands import run

WORDS = re.compile(r"\b(?:must|should|unknown|needs?|write|correct|set|not|there|cannot)\b")
"""Of an English sentence, wherever one is left; names in `…`, '…' and [...] do not count."""
NAMES = re.compile(r"`[^`]*`|'[^']*'|\[[^\]]*\]")


def _chinese(error: Exception) -> str:
    said = translate(error, "zh")
    assert not WORDS.findall(NAMES.sub("", said)), said
    return said


@pytest.mark.parametrize(
    ("table", "shown"),
    [
        ({"base_ulr": "x"}, "没有设置项 'base_ulr'（是否想用 'base_url'？）；可用：base_url"),
        ({"zzz": "x"}, "[judges.openai_compatible] 没有设置项 'zzz'；可用："),
        ({"limits": {"concurency": 1}}, "[judges.openai_compatible.limits] 没有设置项"),
        ({"base_url": "http://x/v1"}, "缺少 judges.openai_compatible.model"),
    ],
)
def test_what_is_wrong_with_a_judges_table_is_told_in_chinese(
    table: dict[str, object], shown: str
) -> None:
    tables = {"openai_compatible": table}

    def read() -> None:
        check_tables(tables)
        make_judge("openai_compatible", tables)

    with pytest.raises(ConfigurationError) as refused:
        read()

    assert shown in _chinese(refused.value)


@pytest.mark.parametrize(
    ("toml", "shown"),
    [
        ("databse_url = 'x'", "未知的键 `databse_url`（是否想用 'database_url'？）"),
        ("[http]\nbody_timeot_s = 1", "未知的键 [http] `body_timeot_s`"),
        ("http = 3", "`http` 是表"),
        ("port = 'abc'", "`port` = 'abc'：应为整数"),
        ("port = 70000", "端口在 0 到 65535 之间"),
        ("judge = 3", "应为文字"),
        ("language = 'fr'", "应为 'en' 或 'zh'"),
        ("log_level = 'loud'", "`log_level` = 'loud'：应为 "),
        ("timezone = 'Beijing'", "不是时区（是否想用 'Asia/Shanghai'？）"),
        ("timezone = 'xyzzyxyzzy'", "不是时区"),
        ("public_url = 'foo'", "`public_url` 必须以 http://"),
        ("public_url = 'http://x/?a=1'", "必须写明主机"),
        ("[http]\nmax_body_bytes = -1", "`max_body_bytes` 必须大于 0"),
        ("[http]\nrequests_per_minute = -1", "0 表示不限"),
        ("[http]\nmax_inflight_bytes = 5", "否则一个大的请求体永远不会被接收"),
        ("[http]\nallow_insecure_bind = 'x'", "应为 true 或 false"),
        ("[http]\nallowed_hosts = 'x'", "应为列表"),
        ("[http]\nbody_timeout_s = nan", "应为有限的数"),
        ("[worker]\nevaluate_lanes = 0", "`evaluate_lanes` 必须大于 0"),
        ("[worker]\nlease_s = 0.5", "否则来不及续约"),
        ("[store]\nurl = 'sqlite:///x'", "不读取 [store] 的 `url`"),
        ("[store]\nroot_delay_s = -1", "不能小于 0"),
        ("[sampling]\nrate = 2", "不超过 1 的比例"),
        ("[sampling]\nrate = 0.0", "把 `judge` 留为"),
        ("[sampling]\nmin_per_window = -1", "不能为负"),
        ("[sampling]\nsalt = ''", "需要 1 到 64 字节"),
        ("[sampling]\nstrata = { x = 0.5 }", "不认识抽样分层"),
        ("[retention]\ntraces_days = 0", "至少保留一天"),
        ("[retention]\nmax_bytes = 0", "不写表示不限"),
        ("[retention]\ntraces_days = 9999999", "最多"),
        ("[evaluation]\nmetrics = []", "`metrics` 为空"),
        ("[evaluation]\nmetrics = ['faithfulnes']", "是否想用 'faithfulness'"),
        ("[evaluation]\nmax_attempts = 0", "至少为 1"),
        ("[evaluation]\nmax_attempts = 999", "会超过一天"),
        ("[evaluation]\nlag_clear_s = 900", "应为 0 到 `lag_limit_s`"),
        ("[oidc]\nissuer = 'http://x.example.com'", "`issuer` 必须是 https"),
        ("[oidc]\nissuer = 'https://x.example.com'", "就需要 `client_id`"),
        ("[export]\nform = 'x'", "应为 'events', 'spans' 或 'phoenix'"),
        ("[export]\nbatch = 0", "settle_s 不能小于 0"),
        ("[export]\nendpoint = 'http://10.0.0.1'", "请在 [export] 中设置 `allow_hosts`"),
        ("[export]\nendpoint = 'ftp://example.com'", "URL 必须以 https:// 或 http:// 开头"),
        ("[own_traces]\ningest_rate = 2", "`ingest_rate` 为 0 到 1"),
    ],
)
def test_settings_that_cannot_be_are_told_in_chinese(tmp_path: Path, toml: str, shown: str) -> None:
    file = tmp_path / "rag_monitor.toml"
    file.write_text(toml, encoding="utf-8")

    with pytest.raises(ConfigurationError) as refused:
        load_settings(file, {})

    assert shown in _chinese(refused.value)


def test_files_and_variables_that_cannot_be_are_told_in_chinese(tmp_path: Path) -> None:
    broken = tmp_path / "broken.toml"
    broken.write_text("[sampling\n", encoding="utf-8")
    for path, environment, shown in (
        (tmp_path / "gone.toml", {}, "不存在；请检查 --config"),
        (broken, {}, "不是有效的 TOML（第 1 行第 10 列）"),
        (None, {"RAG_MONITOR_PROT": "1"}, "（是否想用 'RAG_MONITOR_PORT'？）"),
        (None, {"RAG_MONITOR_XYZZY": "1"}, "未知的环境变量 RAG_MONITOR_XYZZY"),
        (None, {"RAG_MONITOR_NOTIFIERS_X_URL": "1"}, "配置文件中没有它所属的表"),
    ):
        with pytest.raises(ConfigurationError) as refused:
            load_settings(path, environment)
        assert shown in translate(refused.value, "zh")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("mysql://x", "不支持数据库 'mysql'"),
        ("sqlite://", "SQLite 需要文件"),
        ("???", "数据库的 URL 无法解析"),
        ("sqlite:////no/such/folder/m.db", "没有文件夹 /no/such/folder；请创建它"),
    ],
)
def test_databases_that_cannot_be_opened_are_told_in_chinese(url: str, shown: str) -> None:
    with pytest.raises(RagMonitorError) as refused:
        Store.open(StoreOptions(url=url), ManualClock())

    assert shown in _chinese(refused.value)


def test_addresses_that_are_refused_are_told_in_chinese() -> None:
    from rag_monitor.outbound.guard import OutboundPolicy, check_url

    for url, shown in (
        ("http://localhost/", "内部网络的名称"),
        ("http://u:p@example.com/", "URL 中有用户名"),
        ("http://example.com:22/", "端口 22"),
        ("http:///x", "URL 中没有主机"),
        ("http://例.com/", "非 ASCII"),
    ):
        with pytest.raises(OutboundRefused) as refused:
            check_url(url, OutboundPolicy())
        assert shown in _chinese(refused.value)


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("fly", "错误：没有命令 'fly'"),
        ("rules chek", "没有命令 'chek'，是否想用 'check'？"),
        ("serve --prt 5", "没有选项 --prt"),
        ("serve --port x", "'--port' 的值无效：应为整数"),
        ("serve --role x", "'x' 不在可用的值之中"),
        ("keys create", "缺少参数 'name'"),
        ("keys list a b", "多出的参数：a b"),
        ("keys rotate a --grace -1", "不能小于 0"),
        ("doctor --notify", "选项 '--notify' 需要一个值"),
    ],
)
def test_a_command_line_that_cannot_be_read_is_told_in_its_language(
    line: str,
    shown: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert run(*line.split()) == 2
    english = capsys.readouterr().err
    monkeypatch.setenv("RAG_MONITOR_LANGUAGE", "zh")
    assert run(*line.split()) == 2
    chinese = capsys.readouterr().err

    assert "Error: " in english
    assert shown in chinese
    assert "Error: " not in chinese


@pytest.mark.parametrize(
    ("words", "language"),
    [
        (["fly", "--language", "zh"], "zh"),
        (["--language=zh", "fly"], "zh"),
        (["fly", "--language", "en"], "en"),
        (["fly", "--language"], "en"),
        (["fly"], "zh"),
    ],
)
def test_the_language_of_a_line_is_what_it_names_else_the_environments(
    words: list[str], language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAG_MONITOR_LANGUAGE", "zh")

    assert usage.language_of(words) == language


def test_a_command_without_its_own_is_shown_its_help_in_whatever_language(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAG_MONITOR_LANGUAGE", "zh")

    assert run("keys") == 2

    shown = "".join(capsys.readouterr())
    assert "revoke" in shown
    assert "错误" not in shown
