"""A monitor process with three projects in it, a key of every role for each, and their things."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx

from rag_monitor.domain.alert import Alert, AlertRule, AlertState, Finding, RuleKind, Severity
from rag_monitor.domain.incident import Example, Incident, IncidentAlert, NextStep, Story
from rag_monitor.domain.trace import derive_trace_id
from rag_monitor.store.options import StoreOptions
from rag_monitor.store.store import Store
from tests.acceptance.running import Monitor, Reply, eventually, monitor

OPERATOR = "operator-key-of-the-tests"
ROLES = ("ingest", "read", "write", "admin")
EDITOR = "editor"
"""Somebody with a key that reads and writes: what people sign in with."""


@dataclass
class Project:
    """One project and what is in it."""

    name: str
    keys: dict[str, str] = field(default_factory=dict)
    """By role."""
    key_id: str = ""
    silence_id: str = ""

    @property
    def app(self) -> str:
        return f"{self.name}-app"

    @property
    def mark(self) -> str:
        """Stands in every text of the project, and in no request of others."""
        return f"owned-by-{self.name}"

    @property
    def trace_id(self) -> str:
        return derive_trace_id(self.name, self.app, "t-1")

    @property
    def alert_id(self) -> str:
        return f"alert-of-{self.name}"

    @property
    def incident_id(self) -> str:
        return f"incident-of-{self.name}"

    @property
    def user_id(self) -> str:
        return f"user-of-{self.name}"

    @property
    def session_id(self) -> str:
        return f"session of {self.name}"

    @property
    def rule(self) -> str:
        return f"rule of {self.name}"

    def trace(self) -> bytes:
        return json.dumps(
            {
                "id": "t-1",
                "app": self.app,
                "question": f"What is {self.mark}?",
                "contexts": [f"A passage {self.mark}."],
                "answer": f"An answer {self.mark}.",
                "user_id": self.user_id,
                "session_id": self.session_id,
                "hits": [{"kind": "plugin", "name": f"plugin {self.mark}", "ok": True, "items": 1}],
            }
        ).encode()


@dataclass
class Estate:
    """The running monitor and its projects."""

    monitor: Monitor
    projects: dict[str, Project]
    client: httpx.Client

    def call(
        self, method: str, path: str, key: str | None = None, body: Any = None, **headers: str
    ) -> Reply:
        """One request; a `dict` or `list` body goes as JSON."""
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        if key is not None:
            given["X-API-Key"] = key
        data: bytes | None = body
        if isinstance(body, dict | list):
            data = json.dumps(body).encode()
            given.setdefault("Content-Type", "application/json")
        answer = self.client.request(method, self.monitor.url + path, content=data, headers=given)
        self.client.cookies.clear()
        return Reply(answer.status_code, answer.content, dict(answer.headers))

    def holdings(self, project: Project) -> dict[str, Any]:
        """Everything the project's admin can read, without what reading itself changes."""
        found: dict[str, Any] = {}
        for path in (
            "/api/v1/rules",
            "/api/v1/alerts",
            "/api/v1/incidents",
            f"/api/v1/incidents/{project.incident_id}",
            "/api/v1/silences",
            "/api/v1/keys",
            "/api/v1/audit",
            "/api/v1/traces",
            "/api/v1/sessions",
            f"/api/v1/traces/{project.trace_id}",
            f"/api/v1/decisions/{project.trace_id}",
            "/api/v1/labels",
        ):
            answer = self.call("GET", path, project.keys["admin"])
            assert answer.status == 200, (path, answer.body)
            found[path] = answer.json
        found["/api/v1/rules"].pop("states")  # how rules stand changes at every look
        for key in found["/api/v1/keys"]["keys"]:
            key.pop("last_used_at")
        return found


@contextmanager
def estate(folder: Path, database_url: str) -> Iterator[Estate]:
    """Alpha owns things, beta does too and attacks, gamma's may be broken."""
    projects = {name: Project(name) for name in ("alpha", "beta", "gamma")}
    _seed(database_url, projects)
    with (
        monitor(folder, database_url, RAG_MONITOR_API_KEY=OPERATOR) as running,
        httpx.Client(timeout=60) as client,
    ):
        built = Estate(running, projects, client)
        for project in projects.values():
            _furnish(built, project)
        for project in projects.values():
            eventually(lambda project=project: _shown(built, project))
        yield built


def _seed(database_url: str, projects: dict[str, Project]) -> None:
    """What no request can make: an alert and its incident."""
    now = datetime.now(UTC)
    options = StoreOptions(url=database_url, ballast_bytes=0, auto_migrate=True)
    with Store.open(options) as store:
        for project in projects.values():
            rule = AlertRule(
                name=project.rule, kind=RuleKind.DROP, project=project.name, metric="faithfulness"
            )
            store.rules.save(rule)
            alert = Alert(
                id=project.alert_id,
                project=project.name,
                rule=project.rule,
                app=project.app,
                state=AlertState.RESOLVED,
                severity=Severity.PAGE,
                since=now,
                started_at=now - timedelta(minutes=5),
                fired_at=now - timedelta(minutes=5),
                resolved_at=now,
                finding=Finding(active=False, summary=f"It fell: {project.mark}"),
            )
            store.alerts.save([alert], [], incidents=[_incident(project, alert)])


def _incident(project: Project, alert: Alert) -> Incident:
    assert alert.fired_at is not None
    part = IncidentAlert(
        id=alert.id,
        rule=alert.rule,
        started_at=alert.started_at,
        fired_at=alert.fired_at,
        resolved_at=alert.resolved_at,
    )
    story = Story(
        told_at=alert.fired_at,
        since=alert.started_at,
        first=alert.id,
        judged=1,
        judged_before=0,
        examples=(Example(trace_id=project.trace_id, question=f"What is {project.mark}?"),),
        step=NextStep(key="any.release", dimension="release", value=project.mark),
    )
    return Incident(
        id=project.incident_id,
        project=project.name,
        app=project.app,
        began_at=alert.started_at,
        ended_at=alert.resolved_at,
        alerts=(part,),
        story=story,
    )


def _furnish(built: Estate, project: Project) -> None:
    for role in (*ROLES, EDITOR):
        scopes = ["read", "write"] if role == EDITOR else [role]
        body = {"name": f"{role} {project.mark}", "scopes": scopes, "project": project.name}
        made = built.call("POST", "/api/v1/keys", OPERATOR, body)
        assert made.status == 201, made.body
        project.keys[role] = made.json["secret"]
    body = {"name": f"spare {project.mark}", "scopes": ["read"]}
    made = built.call("POST", "/api/v1/keys", project.keys["admin"], body)
    project.key_id = made.json["key"]["id"]
    sent = built.call(
        "POST",
        "/api/v1/traces",
        project.keys["ingest"],
        project.trace(),
        Content_Type="application/json",
    )
    assert sent.status == 200, sent.body
    assert sent.json["trace_ids"] == [project.trace_id]
    mark = {
        "trace_id": project.trace_id,
        "value": 1.0,
        "metric": "faithfulness",
        "author": f"reviewer {project.mark}",
        "comment": f"said {project.mark}",
    }
    given = built.call("POST", "/api/v1/feedback", project.keys["write"], mark)
    assert given.status == 201, given.body
    ends = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    silence = {"rule": project.rule, "ends_at": ends, "comment": f"quiet {project.mark}"}
    added = built.call("POST", "/api/v1/silences", project.keys["write"], silence)
    assert added.status == 201, added.body
    project.silence_id = added.json["id"]


def _shown(built: Estate, project: Project) -> bool:
    """Whether its trace is judged, it has the default rules, and `/metrics` has its numbers."""
    trace = built.call("GET", f"/api/v1/traces/{project.trace_id}", project.keys["read"])
    if trace.status != 200 or not trace.json["scores"]:
        return False
    if len(built.call("GET", "/api/v1/rules", project.keys["read"]).json["rules"]) < 2:
        return False
    return project.app in built.call("GET", "/metrics", OPERATOR).body.decode()
