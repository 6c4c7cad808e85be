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
from typing import TYPE_CHECKING, Any, Final, Literal, cast, get_origin, get_type_hints
from urllib.parse import urlsplit
from zoneinfo import available_timezones

from pydantic import TypeAdapter, ValidationError

from rag_monitor.alerting.options import AlertOptions
from rag_monitor.config.options import (
    GrpcOptions,
    HttpOptions,
    LabelOptions,
    OidcOptions,
    SessionOptions,
    WorkerOptions,
)
from rag_monitor.domain.names import NameLimits
from rag_monitor.domain.stored import RetentionPolicy
from rag_monitor.errors import ConfigurationError
from rag_monitor.evaluation.options import EvaluationOptions
from rag_monitor.exposition.options import ExportOptions, OwnTracesOptions
from rag_monitor.field_values import wrong_value
from rag_monitor.i18n import Message, languages
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
_LONGEST: Final = {"s": 1_000_000_000, "hours": 300_000, "days": 36_500}
"""The most of a setting whose name ends in that unit: decades."""

Role = Literal["all", "ingest", "api", "worker"]
if TYPE_CHECKING:
    Language = str
else:
    Language = Literal[languages()]


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
    sessions: SessionOptions = field(default_factory=SessionOptions)
    alerts: AlertOptions = field(default_factory=AlertOptions)
    labels: LabelOptions = field(default_factory=LabelOptions)
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
            "the configuration file {file} does not exist; check the path given with --config",
            file=file,
        ) from None
    except OSError as error:
        raise ConfigurationError(
            "the configuration file {file} cannot be read: {reason}", file=file, reason=error
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise _not_toml(file, error) from None


def _not_toml(file: Path, error: ValueError) -> ConfigurationError:
    # Before Python 3.14 an error of `tomllib` holds its place in its text only.
    reason, _, place = str(error).partition(" (at line ")
    line, _, column = place.removesuffix(")").partition(", column ")
    if not column:
        return ConfigurationError("{file} is not valid TOML: {reason}", file=file, reason=error)
    return ConfigurationError(
        "{file} is not valid TOML: {reason} (at line {line}, column {column})",
        file=file,
        reason=reason,
        line=line,
        column=column,
    )


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
    variables = [PREFIX + n.upper() for n in _HINTS if n not in _TABLES and n not in _FREE_TABLES]
    variables += [f"{PREFIX}{t.upper()}_{n.upper()}" for t, o in _TABLES.items() for n in _names(o)]
    if kind := next((k for k in _FREE_TABLES if lowered.startswith(f"{k}_")), None):
        raise ConfigurationError(
            "{name}: the configuration file has no table that it belongs to; "
            "RAG_MONITOR_{variable}_<NAME>_<KEY> sets a key of [{kind}.<name>] where that stands "
            "in the file",
            name=name,
            variable=kind.upper(),
            kind=kind,
        )
    raise ConfigurationError(
        "unknown environment variable {name}{meant}; unset it, or correct its name (the "
        "documentation's page on settings has them all)",
        name=name,
        meant=did_you_mean(name, variables),
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
                raise ConfigurationError(
                    "`{name}` is a table: write [{name}] and its keys below", name=name
                )
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
        raise ConfigurationError("[{name}]: {reason}", name=name, reason=error) from None


def _value(name: str, hint: Any, value: Any) -> Any:
    try:
        read = TypeAdapter(hint).validate_python(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        shown = (
            "(hidden)"
            if "key" in name or "secret" in name or "notifiers" in name or name.endswith(".headers")
            else repr(value)
        )
        raise ConfigurationError(
            "`{name}` = {shown}: {reason}",
            name=name,
            shown=shown,
            reason=wrong_value(first).lowered(),
        ) from None
    if isinstance(read, float) and not math.isfinite(read):
        raise ConfigurationError(
            "`{name}` = {value}: must be a finite number", name=name, value=read
        )
    longest = _LONGEST.get(name.rpartition("_")[2])
    if longest is not None and isinstance(read, int | float) and read > longest:
        raise ConfigurationError(
            "`{name}` = {value:g}: at most {longest:,}, or times would pass the calendar's end",
            name=name,
            value=read,
            longest=longest,
        )
    return read


def _refuse_unknown(values: Mapping[str, Any], allowed: list[str], where: str) -> None:
    for key in values:
        if key not in allowed:
            raise ConfigurationError(
                "unknown key {where}`{key}`{meant}; known here: {names}",
                where=where,
                key=key,
                meant=did_you_mean(key, allowed),
                names=", ".join(sorted(allowed)),
            )


_ZONE_OF_CITY: Final = dict.fromkeys(
    ("beijing", "chengdu", "guangzhou", "hangzhou", "shenzhen"), "Asia/Shanghai"
)
"""Cities people write that name no time zone; the nearest spelling would be another country."""


def _nearest_zone(name: str) -> str:
    meant = _ZONE_OF_CITY.get(name.rpartition("/")[2].strip().lower())
    if meant is not None:
        return Message(" (did you mean {near!r}?)", near=meant)
    return did_you_mean(name, sorted(available_timezones()))


def _names(options: Any) -> tuple[str, ...]:
    return tuple(f.name for f in fields(options) if f.init)


def _check_public_url(url: str) -> None:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https"):
        raise ConfigurationError("`public_url` must begin with http:// or https://")
    if not parts.hostname or parts.query or parts.fragment:
        raise ConfigurationError(
            "`public_url` = {url!r}: must name a host and end there or with a path, such as "
            "https://rag-monitor.example.com, for links begin with it",
            url=url,
        )


def _check(settings: Settings) -> None:
    if settings.store.url != StoreOptions().url:
        raise ConfigurationError(
            "[store] `url` is not read: name the database with `database_url`, at the top of the "
            "file, or RAG_MONITOR_DATABASE_URL"
        )
    if not 0 <= settings.port <= 65535:
        raise ConfigurationError(
            "`port` = {port}: a port is between 0 and 65535", port=settings.port
        )
    if settings.timezone not in available_timezones():
        near = _nearest_zone(settings.timezone)
        raise ConfigurationError(
            "`timezone` = {timezone!r} is not a time zone{meant}",
            timezone=settings.timezone,
            meant=near,
        )
    if settings.public_url:
        _check_public_url(settings.public_url)
    if settings.oidc.issuer and not (settings.api_key and settings.public_url):
        raise ConfigurationError(
            "[oidc] needs `api_key` (programs cannot sign in) and `public_url` (where the provider "
            "sends people back to)"
        )
