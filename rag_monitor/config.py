"""Settings: every stage's own options, gathered once from TOML and the environment.

`rag_monitor.toml` holds top-level keys and one table per stage; `RAG_MONITOR_<KEY>` and
`RAG_MONITOR_<TABLE>_<KEY>` override it, and command-line flags override both. Tables of judges and
channels must stand in the file; `RAG_MONITOR_NOTIFIERS_<NAME>_<KEY>` sets a key of one. A key
nobody knows is an error that names the nearest one, so that a typing mistake cannot pass for a
setting.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, cast, get_origin, get_type_hints
from urllib.parse import urlsplit
from zoneinfo import available_timezones

from pydantic import TypeAdapter, ValidationError

from rag_monitor.alerting.options import AlertOptions
from rag_monitor.domain.names import NameLimits
from rag_monitor.domain.ranges import above, at_least, between, check_ranges, not_negative
from rag_monitor.domain.stored import RetentionPolicy
from rag_monitor.domain.trace import DEFAULT_PROJECT
from rag_monitor.errors import ConfigurationError
from rag_monitor.evaluation.options import EvaluationOptions
from rag_monitor.exposition.options import ExportOptions, OwnTracesOptions
from rag_monitor.i18n import languages
from rag_monitor.ingest.options import IngestOptions
from rag_monitor.ingest.rewriting import AppOptions
from rag_monitor.sampling.options import SamplingOptions
from rag_monitor.spelling import did_you_mean
from rag_monitor.store.options import StoreOptions

PREFIX = "RAG_MONITOR_"
DEFAULT_FILE = "rag_monitor.toml"

FOREIGN_VARIABLES = frozenset(
    {
        "ENDPOINT", "APP", "ENVIRONMENT", "RELEASE", "ENABLED", "STRICT", "CAPTURE_CONTENT",
        "CONFIG",
    }
)  # fmt: skip
"""Variables of the same prefix that the SDK or the command line reads; not settings."""

_INGEST_DEFAULT: Final = IngestOptions().max_bytes
_LEASE: Final = at_least(
    1.0, "`{name}` must be at least {least:g} s, not {value:g}: nobody could renew it in time"
)
_LONGEST: Final = {"s": 1_000_000_000, "hours": 300_000, "days": 36_500}
"""The most of a setting whose name ends in that unit: decades."""

Role = Literal["all", "ingest", "api", "worker"]
if TYPE_CHECKING:
    Language = str
else:
    Language = Literal[languages()]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerOptions:
    """How the worker works. All times in seconds."""

    poll_s: Annotated[float, above(0)] = 0.5
    """How often derivation, evaluation and rollups look for work."""
    rules_every_s: Annotated[float, above(0)] = 15.0
    """How often alert rules are evaluated."""
    deliver_every_s: Annotated[float, above(0)] = 2.0
    retention_every_s: Annotated[float, above(0)] = 3600.0
    derive_batch: Annotated[int, above(0)] = 200
    """Traces claimed and assembled together."""
    derive_lanes: Annotated[int, above(0)] = 2
    """Such batches under way at once: while one waits for the database, another is assembled."""
    evaluate_batch: Annotated[int, above(0)] = 32
    """Traces claimed and judged together."""
    evaluate_lanes: Annotated[int, above(0)] = 4
    """Such batches under way at once: while one waits for the database, others go on."""
    sampled_batch: Annotated[int, above(0)] = 32
    """Traces drawn for the sampled judge that are claimed and judged together."""
    sampled_lanes: Annotated[int, above(0)] = 2
    """Such batches under way at once. How many calls the judge gets at once is its own limit
    (`limits.concurrency`)."""
    sampled_wait_s: Annotated[float, above(0)] = 900.0
    """How long a drawn trace may wait for the sampled judge before its scores there have failed."""
    rollup_batch: Annotated[int, above(0)] = 60
    """Dirty minutes recomputed together."""
    fold_every_s: Annotated[float, above(0)] = 10.0
    """How often minutes that have become quiet are added up to ten minutes, hours and days."""
    fold_batch: Annotated[int, above(0)] = 40
    """Such sums made in one go."""
    lease_s: Annotated[float, _LEASE] = 60.0
    """How long a claimed evaluation may take before another worker takes it."""
    leader_ttl_s: Annotated[float, _LEASE] = 10.0
    drain_s: Annotated[float, not_negative()] = 10.0
    """How long a stopping worker may finish what it has begun."""

    def __post_init__(self) -> None:
        check_ranges(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpOptions:
    """What the HTTP side admits."""

    max_body_bytes: Annotated[int, above(0)] = 16 * 1024 * 1024
    """Largest request body, before and after decompression."""
    max_inflight_bytes: int = 128 * 1024 * 1024
    """Request bodies held in memory at once; beyond it 503 with Retry-After."""
    body_timeout_s: Annotated[float, above(0)] = 30.0
    """Longest pause between two pieces of a request body; beyond it 408. The whole body may take
    ten times that."""
    requests_per_minute: Annotated[
        int, not_negative("`{name}` must be above 0, or 0 for no limit")
    ] = 60_000
    """Of one key, to one process; beyond it 429 with Retry-After. A key may have a limit of its
    own. 0: no limit."""
    threads: Annotated[int, above(0)] = 16
    """Requests to the API and pages that are worked on at once; ingest, scrapes and health checks
    have threads of their own."""
    waiting_requests: Annotated[int, not_negative()] = 200
    """Further ones that may wait for their turn; beyond it 503 with Retry-After."""
    session_hours: Annotated[float, above(0)] = 12.0
    """How long a login to the pages lasts."""
    allowed_hosts: tuple[str, ...] = ()
    """Further values of the Host header that are answered."""
    allow_insecure_bind: bool = False
    """Serve beyond loopback without a key. Only behind something that authenticates."""

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.max_inflight_bytes < self.max_body_bytes:
            raise ValueError(
                f"`max_inflight_bytes` ({self.max_inflight_bytes}) must be at least "
                f"`max_body_bytes` ({self.max_body_bytes}), or one large body is never taken"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class GrpcOptions:
    """OTLP over gRPC, with the limits and keys of `[http]`."""

    enabled: bool | None = None
    """None: where the extra `grpc` is installed and the port is free."""
    host: str | None = None
    """None: that of the server."""
    port: Annotated[
        int | None,
        between(0, 65535, "`{name}` must be between {least} and {most}, not {value}"),
    ] = None
    """None: 4317, the port of OTLP over gRPC."""

    @property
    def asked_for(self) -> bool:
        """Whether it is an error when gRPC is not possible."""
        return self.enabled is True or self.host is not None or self.port is not None

    def __post_init__(self) -> None:
        check_ranges(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class OidcOptions:
    """Signing in to the pages through an OpenID Connect provider."""

    issuer: str = ""
    """The provider's issuer URL, exactly as it names itself; empty: off."""
    client_id: str = ""
    client_secret: str = field(default="", repr=False)
    scopes: str = "openid email profile"
    """What is asked of the provider; `openid` must be among them."""
    claim: str = "email"
    """The claim that says who may do what: `email` (only when verified), `groups` …"""
    admins: tuple[str, ...] = ()
    """Values of the claim that may do everything in the project."""
    writers: tuple[str, ...] = ()
    """Values that may read and change rules, silences and marks."""
    readers: tuple[str, ...] = ()
    """Values that may read; `*`: everybody whom the provider vouches for."""
    project: str = DEFAULT_PROJECT
    """The project people see."""
    allow_hosts: tuple[str, ...] = ()
    """Private hosts of the provider that may be reached, and by http."""

    def __post_init__(self) -> None:
        if not self.issuer:
            return
        if not self.trusts(self.issuer):
            raise ValueError("`issuer` must be https (http only for hosts in `allow_hosts`)")
        if not self.client_id or not self.client_secret:
            raise ValueError("`client_id` and `client_secret` are needed with `issuer`")
        if "openid" not in self.scopes.split():
            raise ValueError("`scopes` must contain openid")
        if not (self.admins or self.writers or self.readers):
            raise ValueError("`admins`, `writers` or `readers` must name somebody")

    @property
    def enabled(self) -> bool:
        """Whether people sign in through a provider."""
        return bool(self.issuer)

    def trusts(self, url: str) -> bool:
        """Whether the provider may be reached at this address: TLS, or a host named here."""
        parts = urlsplit(url)
        return parts.scheme == "https" or (
            parts.scheme == "http" and parts.hostname in self.allow_hosts
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything one process needs to know, checked."""

    database_url: str = "sqlite:///rag_monitor.db"
    host: str = "127.0.0.1"
    port: int = 8700
    role: Role = "all"
    judge: str = "embedded"
    """`embedded`, `embedded-lexical`, or a judge that samples on top of the embedded one."""
    api_key: str | None = field(default=None, repr=False)
    """With a key every request must carry it (or one made with `rag-monitor keys`)."""
    public_url: str | None = None
    """Where people reach this server; links in notifications begin with it."""
    timezone: str = "UTC"
    language: Language = "en"
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["text", "json"] = "text"
    """`json`: one object a line, for machines that collect logs."""
    http: HttpOptions = field(default_factory=HttpOptions)
    grpc: GrpcOptions = field(default_factory=GrpcOptions)
    oidc: OidcOptions = field(default_factory=OidcOptions)
    store: StoreOptions = field(default_factory=StoreOptions)
    ingest: IngestOptions = field(default_factory=IngestOptions)
    apps: AppOptions = field(default_factory=AppOptions)
    names: NameLimits = field(default_factory=NameLimits)
    sampling: SamplingOptions = field(default_factory=SamplingOptions)
    evaluation: EvaluationOptions = field(default_factory=EvaluationOptions)
    worker: WorkerOptions = field(default_factory=WorkerOptions)
    alerts: AlertOptions = field(default_factory=AlertOptions)
    export: ExportOptions = field(default_factory=ExportOptions)
    own_traces: OwnTracesOptions = field(default_factory=OwnTracesOptions)
    retention: RetentionPolicy = field(default_factory=RetentionPolicy)
    judges: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Per judge name, the options of that judge: `[judges.openai_compatible]`."""
    notifiers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)
    """Per channel name, its kind and options: `[notifiers.oncall]`."""

    @property
    def https(self) -> bool:
        """Whether people come by https, so that cookies may be kept to it."""
        return (self.public_url or "").startswith("https://")

    @property
    def store_options(self) -> StoreOptions:
        """The store's options with the database of these settings."""
        return replace(self.store, url=self.database_url)

    @property
    def ingest_options(self) -> IngestOptions:
        """What the ingest stage admits: bodies as HTTP does, unless it has a limit of its own."""
        if self.ingest.max_bytes != _INGEST_DEFAULT:
            return self.ingest
        return replace(self.ingest, max_bytes=self.http.max_body_bytes)


_HINTS = get_type_hints(Settings)
_TABLES = {name: hint for name, hint in _HINTS.items() if is_dataclass(hint)}
_FREE_TABLES = frozenset({"judges", "notifiers"})


def load_settings(
    path: Path | None,
    environment: Mapping[str, str],
    overrides: Mapping[str, Any] | None = None,
) -> Settings:
    """Read the file, then the environment, then `overrides`; later ones win.

    Args:
        path: The TOML file; None takes `rag_monitor.toml` of the working directory if it is there.
        environment: Usually `os.environ`.
        overrides: Top-level settings from the command line; None values do not count.

    Raises:
        ConfigurationError: A key is unknown, a value has the wrong type, or the file cannot be
            read. The message names the key and says how to mend it.
    """
    values = _read_file(path)
    for name, text in environment.items():
        if name.startswith(PREFIX):
            _apply_variable(values, name, text)
    for name, value in (overrides or {}).items():
        if value is not None:
            values[name] = value
    return _build(values)


def _read_file(path: Path | None) -> dict[str, Any]:
    file = path or Path(DEFAULT_FILE)
    if path is None and not file.exists():
        return {}
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigurationError(
            f"the configuration file {file} does not exist; check the path given with --config"
        ) from None
    except OSError as error:
        raise ConfigurationError(f"the configuration file {file} cannot be read: {error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{file} is not valid TOML: {error}") from None


def _apply_variable(values: dict[str, Any], name: str, text: str) -> None:
    key = name.removeprefix(PREFIX)
    if key in FOREIGN_VARIABLES or key.startswith(("TEST_", "DEMO_", "SPOOL_")):
        return
    lowered = key.lower()
    if lowered in _HINTS and lowered not in _TABLES and lowered not in _FREE_TABLES:
        values[lowered] = _read_variable(_HINTS[lowered], text)
        return
    for table, options in _TABLES.items():
        rest = lowered.removeprefix(f"{table}_")
        if rest != lowered and rest in _names(options):
            hint = get_type_hints(options)[rest]
            values.setdefault(table, {})[rest] = _read_variable(hint, text)
            return
    if _apply_to_own_table(values, lowered, text):
        return
    known = [PREFIX + n.upper() for n in _HINTS if n not in _TABLES and n not in _FREE_TABLES]
    known += [f"{PREFIX}{t.upper()}_{n.upper()}" for t, o in _TABLES.items() for n in _names(o)]
    if kind := next((k for k in _FREE_TABLES if lowered.startswith(f"{k}_")), None):
        raise ConfigurationError(
            f"{name}: the configuration file has no table that it belongs to; "
            f"{PREFIX}{kind.upper()}_<NAME>_<KEY> sets a key of [{kind}.<name>] where that "
            "stands in the file"
        )
    raise ConfigurationError(
        f"unknown environment variable {name}{did_you_mean(name, known)}; "
        "unset it, or correct its name (the documentation's page on settings has them all)"
    )


def _apply_to_own_table(values: dict[str, Any], lowered: str, text: str) -> bool:
    """Set a key of `[judges.<name>]` or `[notifiers.<name>]`: a secret need not be in the file.

    The table must be there, for names may hold `_`; of two that fit the longer one is meant.
    """
    for kind in _FREE_TABLES:
        tables = values.get(kind)
        if not isinstance(tables, dict):
            continue
        for table in sorted(tables, key=len, reverse=True):
            start = f"{kind}_{re.sub(r'[^a-z0-9]', '_', table.lower())}_"
            key = lowered.removeprefix(start)
            if key not in ("", lowered) and isinstance(tables[table], dict):
                tables[table][key] = text
                return True
    return False


def _read_variable(hint: Any, text: str) -> Any:
    """A variable holds one text; for a list its parts stand between commas, or it is JSON."""
    if get_origin(hint) is not tuple:
        return text
    if text.lstrip().startswith("["):
        try:
            return json.loads(text)
        except ValueError:
            return text  # refused as what it is: no list
    return [part.strip() for part in text.split(",") if part.strip()]


def _build(values: dict[str, Any]) -> Settings:
    _refuse_unknown(values, list(_HINTS), "")
    given: dict[str, Any] = {}
    for name, value in values.items():
        if name in _TABLES:
            if not isinstance(value, Mapping):
                raise ConfigurationError(f"`{name}` is a table: write [{name}] and its keys below")
            given[name] = _table(name, value)
        else:
            given[name] = _value(name, _HINTS[name], value)
    settings = Settings(**given)
    _check(settings)
    return settings


def _table(name: str, values: Mapping[str, Any]) -> Any:
    options = _TABLES[name]
    hints = get_type_hints(options)
    _refuse_unknown(values, list(_names(options)), f"[{name}] ")
    given = {key: _value(f"{name}.{key}", hints[key], value) for key, value in values.items()}
    try:
        return cast("type", options)(**given)
    except ValueError as error:
        raise ConfigurationError(f"[{name}]: {error}") from None


def _value(name: str, hint: Any, value: Any) -> Any:
    try:
        read = TypeAdapter(hint).validate_python(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        problem = first["msg"]
        if first["type"] == "tuple_type":
            problem = 'must be a list, such as ["…"]'
        shown = (
            "(hidden)"
            if "key" in name or "secret" in name or "notifiers" in name or name.endswith(".headers")
            else repr(value)
        )
        raise ConfigurationError(f"`{name}` = {shown}: {problem[0].lower()}{problem[1:]}") from None
    if isinstance(read, float) and not math.isfinite(read):
        raise ConfigurationError(f"`{name}` = {read}: must be a finite number")
    longest = _LONGEST.get(name.rpartition("_")[2])
    if longest is not None and isinstance(read, int | float) and read > longest:
        raise ConfigurationError(
            f"`{name}` = {read:g}: at most {longest:,}, or times would pass the calendar's end"
        )
    return read


def _refuse_unknown(values: Mapping[str, Any], known: list[str], where: str) -> None:
    for key in values:
        if key not in known:
            raise ConfigurationError(
                f"unknown key {where}`{key}`{did_you_mean(key, known)}; "
                f"known here: {', '.join(sorted(known))}"
            )


_ZONE_OF_CITY: Final = dict.fromkeys(
    ("beijing", "chengdu", "guangzhou", "hangzhou", "shenzhen"), "Asia/Shanghai"
)
"""Cities people write that name no time zone; the nearest spelling would be another country."""


def _nearest_zone(name: str) -> str:
    meant = _ZONE_OF_CITY.get(name.rpartition("/")[2].strip().lower())
    if meant is not None:
        return f" (did you mean {meant!r}?)"
    return did_you_mean(name, sorted(available_timezones()))


def _names(options: Any) -> tuple[str, ...]:
    return tuple(f.name for f in fields(options) if f.init)


def _check_public_url(url: str) -> None:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https"):
        raise ConfigurationError("`public_url` must begin with http:// or https://")
    if not parts.hostname or parts.query or parts.fragment:
        raise ConfigurationError(
            f"`public_url` = {url!r}: must name a host and end there or with a path, such as "
            "https://rag-monitor.example.com, for links begin with it"
        )


def _check(settings: Settings) -> None:
    if settings.store.url != StoreOptions().url:
        raise ConfigurationError(
            "[store] `url` is not read: name the database with `database_url`, at the top of the "
            f"file, or {PREFIX}DATABASE_URL"
        )
    if not 0 <= settings.port <= 65535:
        raise ConfigurationError(f"`port` = {settings.port}: a port is between 0 and 65535")
    if settings.timezone not in available_timezones():
        near = _nearest_zone(settings.timezone)
        raise ConfigurationError(f"`timezone` = {settings.timezone!r} is not a time zone{near}")
    if settings.public_url:
        _check_public_url(settings.public_url)
    if settings.oidc.issuer and not (settings.api_key and settings.public_url):
        raise ConfigurationError(
            "[oidc] needs `api_key` (programs cannot sign in) and `public_url` (where the provider "
            "sends people back to)"
        )
