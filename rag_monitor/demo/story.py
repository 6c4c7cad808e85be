"""The story: an application serves good answers, a bad release goes out, the monitor notices.

Monitor and application run as child processes; everything goes through public HTTP interfaces.
"""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, Final

import httpx

from rag_monitor.demo.app import APP_NAME
from rag_monitor.demo.breaking import BROKEN, WATCHED, Break
from rag_monitor.demo.corpus import LANGUAGES, Question, load_questions
from rag_monitor.demo.display import Display
from rag_monitor.demo.monitor import (
    Json,
    MonitorApi,
    Observed,
    median_timing,
    watched_rules,
    with_demo_rules,
)
from rag_monitor.demo.processes import Child, StoryError, free_port
from rag_monitor.domain.fault import Stage
from rag_monitor.i18n import Message
from rag_monitor.metrics.fault_words import STAGES

_READY_S: Final = 120.0
_SCORED_S: Final = 120.0
_FIRED_S: Final = 120.0
_POLL_S: Final = 0.4
_USERS: Final = 4
_GOOD_RELEASE: Final = "1.0"
_BAD_RELEASE: Final = "1.1"
_OWN_VARIABLES: Final = ("RAG_MONITOR_", "OTEL_")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryOptions:
    """How the story is told."""

    questions: int = 48
    """Questions per phase; the corpus is repeated when it has fewer."""
    env: Mapping[str, str] = field(default_factory=dict)
    """The environment children inherit; settings of rag-monitor and OpenTelemetry are left out."""
    model_url: str = ""
    """An OpenAI-compatible address that writes the good answers; empty: the extractive answerer."""
    model: str = ""
    breaks: Break = Break.BOTH
    """What the bad release breaks."""
    stay: bool = False
    """Keep everything running after the alert, until cancelled."""


@dataclass(slots=True)
class _Scene:
    """Who is on stage."""

    monitor: MonitorApi
    monitor_url: str
    app_url: str
    http: httpx.AsyncClient
    check: Callable[[], None]
    before: Observed = field(default_factory=Observed)
    after: Observed = field(default_factory=Observed)


async def tell(options: StoryOptions, display: Display) -> Json:
    """Tell the whole story and return its figures (DESIGN, "CLI").

    Raises:
        StoryError: A step did not happen: a process ended, traces were not scored, an alert did
            not fire.
    """
    started = time.monotonic()
    async with contextlib.AsyncExitStack() as stack:
        scene = await _raise_curtain(options, display, stack)
        rules = await _tune_rules(scene, WATCHED[options.breaks])
        url = f"[link={scene.monitor_url}]{scene.monitor_url}[/]"
        display.say(Message("Open {url} to watch the page.", url=url))

        display.step(
            Message(
                "Release {release} answers {questions} questions …",
                release=_GOOD_RELEASE,
                questions=options.questions,
            )
        )
        await _serve(scene, "before", options)
        await _until_scored(scene, scene.before, options.questions, display)

        display.step(Message(BROKEN[options.breaks], release=_BAD_RELEASE))
        broken_at = time.monotonic()
        await _break(scene, options.breaks)
        await _serve(scene, "after", options)
        await _until_scored(scene, scene.after, options.questions, display)
        alerts, seconds = await _until_fired(scene, rules, broken_at, display)

        report = await _report(scene, rules, alerts, seconds)
        report["seconds"] = round(time.monotonic() - started, 1)
        display.conclude(_conclusion(grown_stage(scene.before, scene.after)))
        if options.stay:
            display.say(Message("Everything keeps running; press Ctrl-C to stop."))
            await _stay(scene)
        return report


async def _raise_curtain(
    options: StoryOptions, display: Display, stack: contextlib.AsyncExitStack
) -> _Scene:
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="rag-monitor-demo-")))
    http = await stack.enter_async_context(httpx.AsyncClient(trust_env=False, timeout=30.0))
    monitor_port, app_port = free_port(), free_port()
    monitor_url, app_url = (f"http://127.0.0.1:{port}" for port in (monitor_port, app_port))

    display.step(Message("Starting the monitor and the application …"))
    monitor = Child(
        "the monitor",
        ["rag_monitor", "serve", "--port", str(monitor_port)],
        monitor_environment(options.env, folder / "demo.db", monitor_url),
        folder / "monitor.log",
    )
    app = Child(
        "the application",
        _app_arguments(options, app_port, monitor_url),
        base_environment(options.env),
        folder / "app.log",
    )
    for child in (monitor, app):
        await stack.enter_async_context(child)
    await monitor.ready(http, monitor_url + "/readyz", _READY_S)
    await app.ready(http, app_url + "/healthz", _READY_S)

    def check() -> None:
        monitor.check()
        app.check()

    client = await stack.enter_async_context(
        httpx.AsyncClient(base_url=monitor_url, trust_env=False, timeout=30.0)
    )
    return _Scene(MonitorApi(client, APP_NAME), monitor_url, app_url, http, check)


def base_environment(env: Mapping[str, str]) -> dict[str, str]:
    """The inherited environment without settings that would change the story."""
    kept = {k: v for k, v in env.items() if not k.upper().startswith(_OWN_VARIABLES)}
    return kept | {"NO_PROXY": "127.0.0.1,localhost", "PYTHONUNBUFFERED": "1"}


def monitor_environment(env: Mapping[str, str], database: Path, url: str) -> dict[str, str]:
    """The monitor's settings for the story: its own database, the embedded judge, quick jobs."""
    return base_environment(env) | {
        "RAG_MONITOR_DATABASE_URL": f"sqlite:///{database}",
        "RAG_MONITOR_HOST": "127.0.0.1",
        "RAG_MONITOR_JUDGE": "embedded",
        "RAG_MONITOR_PUBLIC_URL": url,
        "RAG_MONITOR_WORKER_POLL_S": "0.2",
        "RAG_MONITOR_WORKER_RULES_EVERY_S": "1",
    }


def _app_arguments(options: StoryOptions, port: int, endpoint: str) -> list[str]:
    arguments = ["rag_monitor.demo.app", "--port", str(port), "--release", _GOOD_RELEASE]
    arguments += ["--endpoint", endpoint]
    if options.model_url:
        arguments += ["--model-url", options.model_url, "--model", options.model]
    return arguments


async def _tune_rules(scene: _Scene, watched: Sequence[str]) -> dict[str, str]:
    """Shorten the windows; returns metric to rule name."""
    rules = with_demo_rules(await scene.monitor.rules(), watched)
    await scene.monitor.save_rules(rules)
    return watched_rules(rules, watched)


def chosen_questions(count: int) -> list[Question]:
    """`count` questions, languages alternating, those that need a plugin first."""
    by_language = [
        sorted(load_questions(language), key=lambda question: question.plugin is None)
        for language in LANGUAGES
    ]
    mixed = [q for q in chain.from_iterable(zip_longest(*by_language)) if q is not None]
    return [mixed[index % len(mixed)] for index in range(count)]


async def _serve(scene: _Scene, phase: str, options: StoryOptions) -> None:
    """Ask every question, a few users at a time, and read the answers to their end."""
    turn = asyncio.Semaphore(_USERS)

    async def ask(number: int, question: Question) -> None:
        body = {
            "question": question.text,
            "session_id": f"session-{phase}-{number % 12}",
            "user_id": f"user-{number % 7}",
            "expected": question.expected,
        }
        async with turn:
            reply = await scene.http.post(scene.app_url + "/chat", json=body)
        if not reply.is_success or not reply.text:
            raise StoryError(
                "the application answered {status} to a question", status=reply.status_code
            )

    chosen = chosen_questions(options.questions)
    await asyncio.gather(*(ask(number, question) for number, question in enumerate(chosen)))


async def _break(scene: _Scene, breaks: Break) -> None:
    faults = {
        "retriever": breaks is not Break.GENERATOR,
        "invent": breaks is not Break.RETRIEVER,
        "release": _BAD_RELEASE,
    }
    reply = await scene.http.post(scene.app_url + "/break", json=faults)
    if not reply.is_success:
        raise StoryError("the application refused to break: {status}", status=reply.status_code)


async def _until(
    scene: _Scene, done: Callable[[], Awaitable[bool]], timeout_s: float, failure: Callable[[], str]
) -> None:
    deadline = time.monotonic() + timeout_s
    while not await done():
        scene.check()
        if time.monotonic() > deadline:
            raise StoryError(failure())
        await asyncio.sleep(_POLL_S)


async def _until_scored(scene: _Scene, phase: Observed, count: int, display: Display) -> None:
    async def done() -> bool:
        await scene.monitor.follow(phase, skip=scene.before.traces)
        display.show(scene.before, scene.after, ())
        return len(phase.traces) >= count

    await _until(
        scene,
        done,
        _SCORED_S,
        lambda: Message(
            "only {scored} of {count} traces were scored in {seconds:.0f} s",
            scored=len(phase.traces),
            count=count,
            seconds=_SCORED_S,
        ),
    )


async def _until_fired(
    scene: _Scene, rules: Mapping[str, str], since: float, display: Display
) -> tuple[list[Json], dict[str, float]]:
    """Wait for every rule to fire; returns the alerts and the seconds each took."""
    seconds: dict[str, float] = {}
    alerts: list[Json] = []

    async def done() -> bool:
        alerts[:] = await scene.monitor.alerts()
        for name in firing(alerts):
            if name not in seconds:
                seconds[name] = round(time.monotonic() - since, 1)
        display.show(scene.before, scene.after, list(seconds))
        return set(rules.values()) <= set(seconds)

    await _until(
        scene,
        done,
        _FIRED_S,
        lambda: Message(
            "these rules did not fire: {names}",
            names=", ".join(sorted(set(rules.values()) - set(seconds))),
        ),
    )
    return alerts, seconds


def grown_stage(before: Observed, after: Observed) -> str | None:
    """The stage whose share of traces at fault grew most; None: none did."""
    then, now = before.stages_at_fault(), after.stages_at_fault()
    growth = {stage: share - then.get(stage, 0.0) for stage, share in now.items()}
    grown = max(growth, key=lambda stage: growth[stage], default=None)
    return grown if grown is not None and growth[grown] > 0 else None


def _conclusion(stage: str | None) -> Message:
    if stage is None:
        return Message("The alerts fired.")
    stage_name = Message(STAGES[Stage(stage)]).lowered()
    return Message("The alerts fired. At fault since: {stage}.", stage=stage_name)


def firing(alerts: Sequence[Mapping[str, Any]]) -> list[str]:
    """Names of the rules that fire."""
    return [str(alert["rule"]) for alert in alerts if alert["state"] == "firing"]


async def _report(
    scene: _Scene, rules: Mapping[str, str], alerts: Sequence[Json], seconds: Mapping[str, float]
) -> Json:
    traces = [*scene.before.traces.values(), *scene.after.traces.values()]
    fired = [
        {"rule": a["rule"], "state": a["state"], "fired_after_s": seconds.get(str(a["rule"]))}
        for a in alerts
    ]
    main = next(item for item in fired if item["rule"] == next(iter(rules.values())))
    figures: Json = {
        "traces": len(traces),
        "scored": scene.before.scored() + scene.after.scored(),
        "judge": "+".join(scene.after.judges()),
    }
    for metric in rules:
        for name, phase in (("before", scene.before), ("after", scene.after)):
            mean = phase.mean(metric)
            figures[f"{metric}_{name}"] = None if mean is None else round(mean, 4)
        if not (figures[f"{metric}_after"] or 0.0) < (figures[f"{metric}_before"] or 0.0):
            raise StoryError("{metric} did not fall: {figures}", metric=metric, figures=figures)
    return figures | {
        "alert": main,
        "alerts": fired,
        "first_byte_ms_p50": median_timing(traces, "first_byte_ms"),
        "generation_ms_p50": median_timing(traces, "generation_ms"),
        "end_to_end_ms_p50": median_timing(traces, "end_to_end_ms"),
        "hit_rate": await scene.monitor.hit_rates(),
        "stages_at_fault": {
            name: {stage: round(share, 4) for stage, share in phase.stages_at_fault().items()}
            for name, phase in (("before", scene.before), ("after", scene.after))
        },
        "stage": grown_stage(scene.before, scene.after),
        "url": scene.monitor_url,
    }


async def _stay(scene: _Scene) -> None:
    while True:
        scene.check()
        await asyncio.sleep(1.0)
