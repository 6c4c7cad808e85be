"""The settings of a process beside the variables that others read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import rag_monitor
from rag_monitor.config import load_settings
from rag_monitor.errors import ConfigurationError


def test_variables_that_only_applications_read_do_not_stop_the_server() -> None:
    text = rag_monitor.configure.__doc__ or ""
    named = set(re.findall(r"`(RAG_MONITOR_[A-Z_]+)`", text)) - {"RAG_MONITOR_API_KEY"}
    assert {"RAG_MONITOR_CAPTURE_CONTENT", "RAG_MONITOR_SPOOL_DIR"} <= named

    settings = load_settings(None, dict.fromkeys(named, "1"))

    assert settings.port == 8700


def test_a_variable_nobody_reads_is_named_with_the_nearest() -> None:
    with pytest.raises(ConfigurationError, match="RAG_MONITOR_PORT"):
        load_settings(None, {"RAG_MONITOR_PROT": "1"})


def test_a_variable_sets_a_key_of_a_judge_or_channel_in_the_file(tmp_path: Path) -> None:
    file = tmp_path / "rag_monitor.toml"
    file.write_text(
        """
        [judges.openai_compatible]
        model = "m"
        api_key = "of the file"
        [notifiers.on-call]
        kind = "feishu"
        [notifiers.on-call_2]
        kind = "slack"
        """
    )

    settings = load_settings(
        file,
        {
            "RAG_MONITOR_JUDGES_OPENAI_COMPATIBLE_API_KEY": "k",
            "RAG_MONITOR_NOTIFIERS_ON_CALL_SECRET": "s",
            "RAG_MONITOR_NOTIFIERS_ON_CALL_2_URL": "https://hooks.example.com/t",
        },
    )

    assert settings.judges["openai_compatible"] == {"model": "m", "api_key": "k"}
    assert settings.notifiers == {
        "on-call": {"kind": "feishu", "secret": "s"},
        "on-call_2": {"kind": "slack", "url": "https://hooks.example.com/t"},
    }


def test_a_variable_of_a_judge_or_channel_that_is_not_in_the_file_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="the configuration file has no table") as refused:
        load_settings(None, {"RAG_MONITOR_NOTIFIERS_ONCALL_SECRET": "hush"})

    assert "hush" not in str(refused.value)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("Asia/Beijing", "Asia/Shanghai"),
        ("beijing", "Asia/Shanghai"),
        ("Asia/Shanghia", "Asia/Shanghai"),
        ("Europe/Berlim", "Europe/Berlin"),
    ],
)
def test_a_time_zone_that_there_is_not_is_named_with_the_one_meant(
    written: str, meant: str
) -> None:
    with pytest.raises(ConfigurationError, match=f"did you mean '{meant}'"):
        load_settings(None, {"RAG_MONITOR_TIMEZONE": written})


def test_one_text_where_a_list_belongs_is_refused_with_the_form_of_a_list(tmp_path: Path) -> None:
    file = tmp_path / "rag_monitor.toml"
    file.write_text('[http]\nallowed_hosts = "a.b"\n', encoding="utf-8")

    with pytest.raises(ConfigurationError, match=r"`http.allowed_hosts` = 'a.b': must be a list"):
        load_settings(file, {})


@pytest.mark.parametrize(
    ("text", "hosts"), [("a.b", ("a.b",)), ("a.b, c.d,", ("a.b", "c.d")), ("", ())]
)
def test_a_variable_holds_a_list_with_commas(text: str, hosts: tuple[str, ...]) -> None:
    settings = load_settings(None, {"RAG_MONITOR_HTTP_ALLOWED_HOSTS": text})

    assert settings.http.allowed_hosts == hosts


@pytest.mark.parametrize(
    ("text", "environment"),
    [("[store]\nurl = 'sqlite:///a.db'\n", {}), ("", {"RAG_MONITOR_STORE_URL": "sqlite:///a.db"})],
)
def test_a_database_named_where_nothing_reads_it_is_refused(
    tmp_path: Path, text: str, environment: dict[str, str]
) -> None:
    file = tmp_path / "rag_monitor.toml"
    file.write_text(text, encoding="utf-8")

    with pytest.raises(ConfigurationError, match="RAG_MONITOR_DATABASE_URL"):
        load_settings(file, environment)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("[worker]\nrules_every_s = -5", "rules_every_s"),
        ("[worker]\npoll_s = 0", "poll_s"),
        ("[worker]\npoll_s = nan", "worker.poll_s"),
        ("[worker]\ndeliver_every_s = inf", "worker.deliver_every_s"),
        ("[worker]\nevaluate_lanes = 0", "evaluate_lanes"),
        ("[worker]\nevaluate_batch = 0", "evaluate_batch"),
        ("[worker]\nleader_ttl_s = 0.1", "leader_ttl_s"),
        ("[worker]\nlease_s = 0", "lease_s"),
        ("[worker]\ndrain_s = -1", "drain_s"),
        ("[alerts]\nslot_s = 0", "slot_s"),
        ("[alerts]\nworst_traces = -1", "worst_traces"),
        ("[retention]\nmax_bytes = -1", "max_bytes"),
        ("[retention]\nscores_days = 0", "scores_days"),
        ("[retention]\nbatch = 0", "batch"),
        ("[store]\npool_size = 0", "pool_size"),
        ("[store]\nretry_s = -1", "retry_s"),
        ("[http]\nmax_body_bytes = -1", "max_body_bytes"),
        ("[evaluation]\nlag_limit_s = 0", "lag_limit_s"),
        ("[evaluation]\nlag_clear_s = -1", "lag_clear_s"),
        ("[evaluation]\nlag_clear_s = 61", "lag_clear_s"),
        ("[evaluation]\nmax_attempts = 0", "max_attempts"),
        ("[evaluation]\nmax_attempts = 200", "max_attempts"),
        ("[evaluation]\nretry_base_s = -5", "retry_base_s"),
        ("[evaluation]\nmetrics = []", "metrics"),
        ('[evaluation]\nmetrics = ["faithfullness"]', "metrics"),
        ("[ingest]\nmax_bytes = -5", "max_bytes"),
        ("[ingest]\nmax_spans = 0", "max_spans"),
        ("[ingest]\nmax_depth = -1", "max_depth"),
        ("[ingest]\nmax_keys = 0", "max_keys"),
        ("[ingest]\nmax_in_flight_bytes = 0", "max_in_flight_bytes"),
        ("[ingest]\ndecode_workers = 0", "decode_workers"),
        ("[ingest]\ninline_bytes = -1", "inline_bytes"),
        ("[ingest]\ninline_compressed_bytes = -1", "inline_compressed_bytes"),
        ("[ingest]\nretry_after_s = 9", "retry_after_s"),
        ("[ingest]\nretry_after_store_s = 0", "retry_after_store_s"),
        ("[retention]\ntraces_days = 1000000000", "retention.traces_days"),
        ("[retention]\napps = { shop = 1000000000 }", "shop"),
        ("[store]\nroot_delay_s = 1e12", "store.root_delay_s"),
        ("[http]\nsession_hours = 1e9", "http.session_hours"),
        ("[http]\nmax_inflight_bytes = 1000", "max_inflight_bytes"),
        ("[http]\nbody_timeout_s = 0", "body_timeout_s"),
        ("[http]\nsession_hours = -1", "session_hours"),
        ("[http]\nrequests_per_minute = -1", "requests_per_minute"),
        ('public_url = "https://"', "public_url"),
        ('public_url = "https://a.example/?x=1"', "public_url"),
    ],
)
def test_a_number_that_cannot_work_is_named_before_the_server_starts(
    tmp_path: Path, text: str, names: str
) -> None:
    file = tmp_path / "rag_monitor.toml"
    file.write_text(text, encoding="utf-8")

    with pytest.raises(ConfigurationError, match=f"`{names}`"):
        load_settings(file, {})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("rate = 0", 'leave `judge` at "embedded"'),
        ("rate = 1.5", "from above 0 to 1, not 1.5"),
        ("floor_share = 0", "from above 0 to 1"),
        ("error_rate = -0.1", "from 0 to 1, not -0.1"),
        ("new_release_rate = 2", "from 0 to 1, not 2"),
        ("budget_soft = 1.01", "from 0 to 1, not 1.01"),
        ("human_rate = -1", "from 0 to 1, not -1"),
        ("min_per_window = -1", "cannot be negative"),
        ('strata = { "app=x" = nan }', "from above 0 to 1, not nan"),
    ],
)
def test_an_impossible_share_of_sampling_is_named(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "rag_monitor.toml"
    file.write_text(f"[sampling]\n{text}\n", encoding="utf-8")

    with pytest.raises(ConfigurationError, match="sampling") as refused:
        load_settings(file, {})
    assert said in str(refused.value)


def test_a_mistyped_live_metric_is_told_the_nearest(tmp_path: Path) -> None:
    file = tmp_path / "rag_monitor.toml"
    file.write_text('[evaluation]\nmetrics = ["faithfullness"]\n', encoding="utf-8")

    with pytest.raises(ConfigurationError, match="did you mean 'faithfulness'"):
        load_settings(file, {})


def test_a_worker_may_stop_at_once_and_a_monitor_may_live_under_a_path(tmp_path: Path) -> None:
    file = tmp_path / "rag_monitor.toml"
    file.write_text(
        'public_url = "https://a.example/rag"\n[worker]\ndrain_s = 0\n[http]\n'
        "requests_per_minute = 0\n",
        encoding="utf-8",
    )

    assert load_settings(file, {}).worker.drain_s == 0
