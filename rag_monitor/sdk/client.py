"""The SDK's one client: set up from arguments and environment, renewed by forks, ended at exit.

The only module of the SDK that reads the environment.
"""

from __future__ import annotations

import atexit
import gc
import os
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from rag_monitor.errors import ConfigurationError
from rag_monitor.sdk.counters import OUTSIDE
from rag_monitor.sdk.fork_exit import watch_children
from rag_monitor.sdk.guard import GUARD
from rag_monitor.sdk.options import DEFAULT_ENDPOINT, SWITCHES, Options, as_switch, is_blank
from rag_monitor.sdk.peek import text_of
from rag_monitor.sdk.threads import follow_threads

if TYPE_CHECKING:
    from rag_monitor.sdk.recorder import Recorder

_LOCK = threading.RLock()
_active: Recorder | None = None
_recorders: weakref.WeakSet[Recorder] = weakref.WeakSet()
_disabled = False


def configure(
    app: str | None = None,
    endpoint: str | None = None,
    *,
    environment: str | None = None,
    release: str | None = None,
    api_key: str | None = None,
    enabled: bool | None = None,
    strict: bool = False,
    **settings: Any,
) -> None:
    """Set the SDK up; call it once at start-up. Arguments win over the environment.

    Read from the environment when not given: `RAG_MONITOR_ENDPOINT`, else
    `OTEL_EXPORTER_OTLP_ENDPOINT`; `RAG_MONITOR_APP`, else `OTEL_SERVICE_NAME`;
    `RAG_MONITOR_ENVIRONMENT`, `RAG_MONITOR_RELEASE`, `RAG_MONITOR_API_KEY`,
    `RAG_MONITOR_ENABLED`, `RAG_MONITOR_CAPTURE_CONTENT`, `RAG_MONITOR_SPOOL_DIR`,
    `OTEL_EXPORTER_OTLP_HEADERS`, `OTEL_SDK_DISABLED`.

    Args:
        app: Name of the application.
        endpoint: Base URL of the monitor.
        environment: For example `production`.
        release: Version of the application; new releases are compared with old ones.
        api_key: Sent as a bearer token.
        enabled: False makes every call of the SDK free of effect.
        strict: Raise on wrong settings instead of warning and going on without them.
        **settings: Any other field of `rag_monitor.sdk.options.Options`.

    Raises:
        ConfigurationError: Only with `strict=True`; names what is wrong and how to mend it.
    """
    given: dict[str, Any] = {
        "app": app,
        "endpoint": endpoint,
        "environment": environment,
        "release": release,
        "api_key": api_key,
        "enabled": enabled,
        **settings,
    }
    _set_up(given, strict=_is_strict(strict), at_start=True)


def _is_strict(given: object) -> bool:
    """Whether wrong settings raise; a value that nobody can read is a wrong setting itself."""
    try:
        return bool(given)
    except BaseException as error:  # noqa: BLE001 - of the value, which may raise anything
        kind = type(error).__name__
        GUARD.warn_once(
            "switch strict",
            "strict must be true or false (it raised %s); it is taken for false",
            kind,
        )
        return False


def _set_up(given: dict[str, Any], *, strict: bool, at_start: bool) -> None:
    try:
        options = _read(given, strict=strict)
        recorder = _recorder_class()(options) if options.enabled else None
        if recorder is not None and at_start:
            recorder.prepare()
    except Exception as error:
        if strict:
            raise
        reason = error.args[0] if isinstance(error, ConfigurationError) else error
        GUARD.warn_once(f"configure {reason}", "rag_monitor is off: %s", reason)
        recorder = None
    install(recorder)


def _read(given: dict[str, Any], *, strict: bool) -> Options:
    """The settings, checked. Whatever a value raises when it is looked at makes it a wrong one."""
    try:
        options = _options({k: v for k, v in given.items() if v is not None}, strict=strict)
        options.require_valid()
    except Exception:
        raise
    except BaseException as error:  # of a value: reading takes microseconds, so no Ctrl-C fell here
        raise ConfigurationError(
            "a setting raised {kind} when read", kind=type(error).__name__
        ) from error
    return options


def prepare() -> None:
    """Load what a recorder is made of, so that the first request need not.

    `import rag_monitor` does without; whatever decorates or wraps a handler calls this.
    """
    try:
        _recorder_class()
        from rag_monitor.sdk import tools  # noqa: F401 - loaded, that is all
    except Exception as error:  # noqa: BLE001 - the boundary
        GUARD.report("prepare", error)


def install(recorder: Recorder | None) -> None:
    """Make `recorder` the one at work (None: off) and end the one before it."""
    global _active, _disabled
    with _LOCK:
        old, _active = _active, recorder
        _disabled = recorder is None
        OUTSIDE.listening = recorder is not None
        if recorder is not None:
            _recorders.add(recorder)
            watch_children(_at_child_end)
        follow_threads(recorder is not None and recorder.options.follow_threads)
    if old is not None:
        old.close(0.0 if old.counters.produced == old.counters.settled else 2.0)


def active() -> Recorder | None:
    """The recorder at work, configured from the environment at the first call; None when off."""
    recorder = _active
    if recorder is None and not _disabled:
        with _LOCK:
            if _active is None and not _disabled:
                _set_up({}, strict=False, at_start=False)
            recorder = _active
    return recorder


def flush(timeout_s: float = 5.0) -> bool:
    """Wait until all traces so far have arrived; call it off the event loop.

    Returns:
        True when everything arrived within `timeout_s`; False when something is still on its way
        or was dropped meanwhile.
    """
    return _waited(lambda recorder: recorder.flush(timeout_s))


def shutdown(timeout_s: float = 5.0) -> bool:
    """Flush, then stop the sender. Traces made later are dropped and counted.

    A monitor that cannot be reached is not waited for: that takes at most a second.
    """
    return _waited(lambda recorder: recorder.close(timeout_s))


def _waited(wait: Callable[[Recorder], bool]) -> bool:
    recorder = _active
    try:
        return wait(recorder) if recorder is not None else True
    except Exception as error:  # noqa: BLE001 - the boundary
        GUARD.report("flush", error)
        return False


def stats() -> dict[str, object]:
    """Counts of this process: `produced`, `delivered`, `dropped` by reason, `waiting`.

    `late` counts what was said of a trace after its end, `outside` the steps that ran where no
    trace was current; neither is recorded.
    `delivered` + everything in `dropped` + `waiting` = `produced`, exactly.
    """
    recorder = _active
    return recorder.stats() if recorder is not None else {}


def feedback(
    trace_id: str,
    value: bool | float | str,
    metric: str | None = None,
    statement: int | None = None,
    comment: str | None = None,
    *,
    scale: int | None = None,
    corrected_answer: str | None = None,
    correct_document_ids: Sequence[str] = (),
) -> None:
    """Send what a user says of an answer, or a reviewer's mark on a metric, in the background.

    Never raises. What is of no form below is not sent: a warning in the log says what is taken, and
    `stats()` counts it among `dropped` as `invalid_feedback`.

    Args:
        trace_id: `current().trace_id` of the answer.
        value: `True` or "up" (good), `False` or "down" (bad), a number from 0 (bad) to 1 (good), or
            with `scale` a number from 1 to `scale`.
        metric: The metric that a reviewer's mark is about; None: a user rates the whole answer,
            which enters `satisfaction_rate` and nothing else.
        statement: 0-based index of the statement that a mark is about.
        comment: Free text; redacted like captured text.
        scale: Best step of the scale of `value`: 5 for one to five stars.
        corrected_answer: What the answer should have been; redacted like captured text.
        correct_document_ids: Documents that the answer should have come from, at most 100.
    """
    recorder = active()
    if recorder is None:
        return
    try:
        recorder.feedback(
            {
                **_checked(trace_id, value, scale),
                "metric": metric,
                "statement": statement,
                "comment": comment,
                "corrected_answer": corrected_answer,
                "correct_document_ids": _document_ids(correct_document_ids),
            }
        )
    except ValueError as error:
        recorder.refuse_feedback()
        GUARD.warn_once("feedback", "feedback is not sent: %s", str(error))
    except Exception as error:  # noqa: BLE001 - the boundary
        recorder.refuse_feedback()
        GUARD.report("feedback", error)


def _checked(trace_id: object, value: object, scale: object) -> dict[str, object]:
    """The id and the rating as they are sent.

    Raises:
        ValueError: They are not what is taken; the message says what is.
    """
    from rag_monitor.sdk.feedback import read_rating

    if text_of(trace_id) is None:
        raise ValueError("it needs a `trace_id`, which rm.current().trace_id is")
    rating = read_rating(value, scale)
    return {"trace_id": trace_id, "value": rating.raw_value, "scale": rating.scale}


def _document_ids(given: object) -> list[object]:
    """Of one document or several; anything else is none."""
    from rag_monitor.sdk.feedback import MOST_DOCUMENTS

    if isinstance(given, str):
        return [given]
    return list(given)[:MOST_DOCUMENTS] if isinstance(given, list | tuple | set) else []


def _recorder_class() -> type[Recorder]:
    """Imported late: who only imports the package, or runs its command, needs none of it."""
    from rag_monitor.sdk.recorder import Recorder

    return Recorder


def _options(given: dict[str, Any], *, strict: bool) -> Options:
    env = os.environ.get
    GUARD.strict = env("RAG_MONITOR_STRICT", "") in ("1", "true")
    values: dict[str, Any] = {
        "app": env("RAG_MONITOR_APP") or env("OTEL_SERVICE_NAME"),
        "endpoint": env("RAG_MONITOR_ENDPOINT") or env("OTEL_EXPORTER_OTLP_ENDPOINT"),
        "environment": env("RAG_MONITOR_ENVIRONMENT"),
        "release": env("RAG_MONITOR_RELEASE"),
        "api_key": env("RAG_MONITOR_API_KEY"),
        "spool_dir": env("RAG_MONITOR_SPOOL_DIR"),
        "headers": _parse_headers(env("OTEL_EXPORTER_OTLP_HEADERS", "")),
        "enabled": env("RAG_MONITOR_ENABLED"),
        "capture_content": env("RAG_MONITOR_CAPTURE_CONTENT"),
    }
    for source in (values, given):
        for name in SWITCHES:
            if is_blank(source.get(name)):
                del source[name]
    if "enabled" not in given and _otel_is_off(env("OTEL_SDK_DISABLED", "")):
        values["enabled"] = False
    values = {key: value for key, value in values.items() if value is not None}
    values.setdefault("endpoint", DEFAULT_ENDPOINT)
    values.update(given)
    unknown = sorted(set(values) - set(Options.__dataclass_fields__))
    if unknown:
        allowed = ", ".join(Options.__dataclass_fields__)
        raise ConfigurationError(
            "unknown setting {unknown}; there are: {names}",
            unknown=", ".join(unknown),
            names=allowed,
        )
    if not strict:
        _to_the_safe_side(values)
    return Options(**values)


def _otel_is_off(raw: str) -> bool:
    """What `OTEL_SDK_DISABLED` says; a word that nobody can read may have meant yes."""
    off = as_switch(raw) if raw.strip().lower() not in ("enabled", "disabled") else None
    if type(off) is bool or is_blank(raw):
        return off is True
    GUARD.warn_once("switch otel", "OTEL_SDK_DISABLED must be true or false; rag_monitor is off")
    return True


def _to_the_safe_side(values: dict[str, Any]) -> None:
    """Turn off every switch whose value nobody can read: it was meant to say something."""
    for name in SWITCHES:
        if type(as_switch(values.get(name, False))) is not bool:
            values[name] = False
            GUARD.warn_once(
                f"switch {name}", "%s must be true or false; it is taken for false", name
            )


def _parse_headers(raw: str) -> dict[str, str]:
    pairs = (item.partition("=") for item in raw.split(","))
    return {
        unquote(key.strip()): unquote(value.strip())
        for key, separator, value in pairs
        if separator and key
    }


def _guarded_for_all(action: Callable[[Recorder], object]) -> None:
    for recorder in list(_recorders):
        try:
            action(recorder)
        except Exception as error:  # noqa: BLE001 - the process ends or forks; it must go on
            GUARD.report("lifecycle", error)


def _after_fork_in_child() -> None:
    global _LOCK
    _LOCK = threading.RLock()
    GUARD.renew_after_fork()
    _guarded_for_all(lambda recorder: recorder.renew_after_fork())
    try:
        watch_children(_at_child_end, forked=True)  # multiprocessing may have come after us
    except Exception as error:  # noqa: BLE001 - the boundary
        GUARD.report("lifecycle", error)


async def server_stops(message: Mapping[str, Any]) -> None:
    """What an application tells its server: when it has shut down, flush off the event loop.

    A server may die of the signal that ended it, and then `atexit` never runs. Never raises.
    """
    try:
        ended = message["type"] in ("lifespan.shutdown.complete", "lifespan.shutdown.failed")
        if ended and any(r.waiting or r.unfinished for r in list(_recorders)):
            await _off_the_loop(_at_server_end)
    except Exception as error:  # noqa: BLE001 - the boundary
        GUARD.report("lifecycle", error)


async def _off_the_loop(wait: Callable[[], None]) -> None:
    from asyncio import get_running_loop

    try:
        await get_running_loop().run_in_executor(None, wait)
    except RuntimeError:  # not a loop of asyncio's, or one that takes no more
        wait()


def _at_server_end() -> None:
    """As at exit; the sender lives on, for tests start many servers in one process."""
    _end_abandoned()
    _guarded_for_all(lambda recorder: recorder.flush_last(recorder.exit_s))


def _at_child_end() -> None:
    _guarded_for_all(_finish)


def _finish(recorder: Recorder) -> None:
    """Flush, and leave to the spool what does not arrive; the child's threads may still trace."""
    if not recorder.counters.produced:
        return
    if not recorder.flush_last(recorder.exit_s):
        recorder.close(0.0)


def _end_abandoned() -> None:
    """A stream that nobody reads any more ends its trace when it is collected: not too late."""
    if any(recorder.unfinished and not recorder.closed for recorder in list(_recorders)):
        gc.collect()


def _at_exit() -> None:
    _end_abandoned()
    _guarded_for_all(lambda recorder: recorder.close(recorder.exit_s))


atexit.register(_at_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
