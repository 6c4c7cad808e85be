"""What every page shares: who looks, language and time zone, and the template environment."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Annotated, Any, Final
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from fastapi import Depends, Request
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from starlette.responses import HTMLResponse

from rag_monitor import __version__
from rag_monitor.alerting.conditions.wording import in_zone, need, note_text
from rag_monitor.alerting.rule_names import rule_name
from rag_monitor.charts import durations, numbers
from rag_monitor.charts.scores import interval_bar
from rag_monitor.domain.alert import Alert, AlertState, Finding
from rag_monitor.domain.fault import FAULT_METRICS, STAGES
from rag_monitor.domain.rule_state import RuleState
from rag_monitor.domain.session_outcome import SESSION_METRICS
from rag_monitor.domain.stored import KeyScope
from rag_monitor.domain.window import Window
from rag_monitor.i18n import ENGLISH, Message, languages, msgid, name_of, tag_of, translate
from rag_monitor.metrics import fault_words
from rag_monitor.metrics.names import is_share, with_display_names
from rag_monitor.metrics.reason_words import REASONS
from rag_monitor.server.auth import COOKIE, Gate, Principal, Session, gate_of, services_of
from rag_monitor.server.problems import Problem, ProblemError, preferred_language
from rag_monitor.server.rule_report import RuleReport, report_of
from rag_monitor.server.services import Services
from rag_monitor.server.ui import catalog
from rag_monitor.server.ui.display import OFFERED_ZONES, THEMES, theme_of, zone_of
from rag_monitor.server.ui.glossary import GLOSSARY
from rag_monitor.server.ui.period import Period, period_of
from rag_monitor.server.ui.question_title import IN_A_HEADING, IN_A_LIST, cut_in, title_of

LANGUAGE_COOKIE: Final = "rag_monitor_language"
WINDOWS: Final = ("15m", "1h", "6h", "24h", "7d", "30d")
_UNITS: Final = {
    "m": msgid("{n} min"),
    "h": msgid("{n} h"),
    "d": msgid("{n} d"),
    "w": msgid("{n} w"),
}
_SHARES: Final = (0.5, 0.9, 0.99)
"""The percentiles of latencies that are shown."""
_FILTERS: Final = ("app", "release", "environment", "knowledge_base", "window", "from", "to")
"""What an address may be thought to narrow numbers down by."""
OPEN_STATES: Final = (AlertState.FIRING, AlertState.PENDING)


@lru_cache(maxsize=1)
def environment() -> Environment:
    """The templates; everything is escaped, and a missing name is an error."""
    templates = Environment(
        loader=PackageLoader("rag_monitor.server.ui", "templates"),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.globals.update(
        milliseconds=durations.milliseconds,
        latency_interval=durations.latency_interval,
        milliseconds_change=durations.milliseconds_change,
        interval_bar=interval_bar,
        share_interval=numbers.share_interval,
        quantile_name=numbers.quantile_name,
        value_text=value_text,
        interval_text=interval_text,
        is_share=is_share,
        metric_label=catalog.metric_label,
        metric_help=catalog.metric_help,
        title_of=title_of,
        cut_in=cut_in,
        KINDS=catalog.KINDS,
        STATES=catalog.STATES,
        STATUSES=catalog.STATUSES,
        REASONS=REASONS,
        DRAWN=catalog.DRAWN,
        FAULTS=fault_words.FAULTS,
        STAGES=fault_words.STAGES,
        FAULT_OF=FAULT_METRICS,
        SESSION_METRICS=SESSION_METRICS,
        STAGE_OF=STAGES,
        EVIDENCE=fault_words.EVIDENCE,
        LIKELY=fault_words.LIKELY,
        RULE_KINDS=catalog.RULE_KINDS,
        RULE_STATES=catalog.RULE_STATES,
        ALERT_ACTIONS=catalog.ALERT_ACTIONS,
        ROLES=catalog.ROLES,
        PARKED=catalog.PARKED,
        SEVERITIES=catalog.SEVERITIES,
        SCOPES=catalog.SCOPES,
        THANKS=catalog.THANKS,
        AGREEMENT=catalog.AGREEMENT,
        GLOSSARY=GLOSSARY,
        WINDOWS=WINDOWS,
        SHARES=_SHARES,
        IN_A_LIST=IN_A_LIST,
        IN_A_HEADING=IN_A_HEADING,
        version=__version__,
        tag_of=tag_of,
        THEMES=THEMES,
        OFFERED_ZONES=OFFERED_ZONES,
    )
    templates.filters.update(
        score=numbers.score_text,
        share=numbers.share_text,
        thousands=numbers.count_text,
        figure=numbers.figure_text,
        change=numbers.change_text,
        points=numbers.points_text,
        foreign=numbers.foreign_text,
        given_share=numbers.given_share,
        multiple=numbers.multiple_text,
        money=numbers.money_text,
    )
    return templates


def value_text(metric: str, value: float | None) -> str:
    """A metric's number as it is written: a share in percent, a score with two digits."""
    return (numbers.share_text if is_share(metric) else numbers.score_text)(value)


def interval_text(metric: str, lower: float | None, upper: float | None) -> str:
    """A metric's interval as it is written; empty where there is none."""
    if is_share(metric):
        return numbers.share_interval(lower, upper)
    if lower is None or upper is None:
        return ""
    return f"{numbers.score_text(lower)}–{numbers.score_text(upper)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    """Who looks at a page."""

    request: Request
    services: Services
    principal: Principal
    session: Session
    token: str
    cookie: str | None
    """A fresh session cookie to set; None when the visitor has one."""
    language: str
    zone: ZoneInfo
    theme: str = ""
    """`light`, `dark`, or empty: as the system is."""

    def translate(self, text: str, many: str = "", /, **values: Any) -> str:
        """The text in the visitor's language, with `{names}` filled in.

        Args:
            text: What the catalogue has; where `many` is given, for an `n` of 1.
            many: For every other `n`.
            values: What is filled in; `n` of a text with two forms with thousands separators.
        """
        if many:
            counted = Message.counted(text, many, **values | {"n": numbers.Count(values["n"])})
            return translate(counted, self.language)
        return translate(Message(text, **values) if values else _message(text), self.language)

    def sentences(self, *texts: str) -> str:
        """Translated sentences one after the other, without those that are empty.

        Chinese full stops bring the space behind them.
        """
        joined, *others = [text for text in texts if text] or [""]
        for text in others:
            joined = self.translate("{sentence} {next}", sentence=joined, next=text)
        return joined

    @property
    def own_zone(self) -> bool:
        """Whether this browser chose another zone than the configured one."""
        return str(self.zone) != self.services.settings.timezone

    def allows(self, scope: str) -> bool:
        """Whether the visitor's key covers `scope`."""
        return self.principal.allows(KeyScope(scope))

    def local(self, moment: datetime | None, style: str = "%Y-%m-%d %H:%M:%S") -> str:
        """A moment in the configured time zone."""
        return "–" if moment is None else moment.astimezone(self.zone).strftime(style)

    def ago(self, moment: datetime) -> str:
        """How long ago, in one unit."""
        seconds = max(0.0, (self.services.clock.now() - moment).total_seconds())
        for size, text in (
            (86_400, msgid("{n} d ago")),
            (3600, msgid("{n} h ago")),
            (60, msgid("{n} min ago")),
        ):
            if seconds >= size:
                return self.translate(text, n=int(seconds // size))
        return self.translate("just now")

    def spoken(self, text: str) -> str:
        """A sentence of the alerts: metrics as the pages call them, times in the pages' zone."""
        return with_display_names(in_zone(text, self.zone), self.language, own_name=False)

    def duration(self, seconds: float) -> str:
        """A length of time in its largest whole unit: 45 s, 10 min, 2 h, 7 d."""
        number, unit = durations.duration(seconds)
        return self.translate(unit, n=f"{number:g}")

    def rule(self, name: str) -> str:
        """A shipped rule in the visitor's language; one that somebody wrote as they called it."""
        return rule_name(name, self.language)

    def span(self, window: str) -> str:
        """The name of a window for people; English reads its short form."""
        if self.language == ENGLISH:
            return window
        return self.translate(_UNITS[window[-1]], n=window[:-1])

    def reason(self, word: str) -> str:
        """A machine word in the visitor's language; one that nobody knows stays as it is."""
        return self.translate(REASONS.get(word, word))

    def sentence(self, text: str) -> str:
        """A message of ours in the visitor's language; what others wrote stays as it is."""
        return translate(text, self.language)

    def note(self, word: str) -> str:
        """What stands beside a number, in the visitor's language."""
        sentence = note_text(word, self.language)
        return sentence if sentence != word else self.reason(word)

    def notes(self, finding: Finding | RuleState) -> list[str]:
        """What stands beside a finding's numbers, without what its sentence says already."""
        sentence = (finding.summary_zh if self.language == "zh" else "") or finding.summary
        return [note for note in map(self.note, finding.notes) if note not in sentence]

    def open_alerts(self, app: str | None = None) -> list[Alert]:
        """Alerts that fire or are about to, of one app or of all; the firing and newest first."""
        project = self.principal.project
        return sorted(
            (
                alert
                for state in OPEN_STATES
                for alert in self.services.alerts.load(project, state)
                if app in {None, "", alert.app}
            ),
            key=lambda alert: (alert.state is not AlertState.FIRING, -alert.since.timestamp()),
        )

    def rule_report(self, apps: Collection[str]) -> RuleReport:
        """How the rules stand on some apps."""
        services, project = self.services, self.principal.project
        only = next(iter(apps)) if len(apps) == 1 else None
        states = services.rule_states.all(project, only) if apps else ()
        return report_of(states, services.rules.all(project), apps)

    def need(self, state: RuleState) -> str:
        """What a rule that cannot tell would need; empty: more would not help it."""
        message = need(state)
        return "" if message is None else translate(message, self.language)

    def period(self, default: str = "24h") -> Period:
        """The stretch of time that was chosen."""
        query, now = self.request.query_params, self.services.clock.now()
        return period_of(query, now, self.zone, default)

    def not_applied(self, *applied: str) -> dict[str, str]:
        """Filters of the address that a page does not know: whoever shares a link must be told.

        Args:
            applied: Those that it applies.
        """
        query = self.request.query_params
        return {n: query[n][:100] for n in _FILTERS if n not in applied and query.get(n)}

    def between(self, window: Window) -> str:
        """The ends of a window, as far as they differ."""
        style = "%m-%d %H:%M" if window.length < timedelta(days=300) else "%Y-%m-%d"
        start, end = (self.local(moment, style) for moment in (window.start, window.end))
        day, _, time = end.partition(" ")
        return f"{start} – {time if time and start.startswith(day) else end}"

    @property
    def address(self) -> str:
        """Of this server, as programs reach it; without a slash at the end."""
        return self.services.settings.public_url or str(self.request.base_url).rstrip("/")

    def link(self, path: str, **query: object) -> str:
        """A link with those query values that are not empty."""
        given = {k.rstrip("_"): v for k, v in query.items() if v not in {None, ""}}
        return f"{path}?{urlencode(given)}" if given else path


def visitor_of(request: Request) -> Visitor:
    """A dependency: the visitor, who may read. 401 without a session, where a key is needed."""
    services, gate = services_of(request), gate_of(request)
    principal = gate.identify(request)
    if not principal.allows(KeyScope.READ):
        raise ProblemError(
            403, "This key may not read; sign in with one that has the scope `read`."
        )
    return make_visitor(request, services, gate, principal)


Viewer = Annotated[Visitor, Depends(visitor_of)]


def make_visitor(request: Request, services: Services, gate: Gate, principal: Principal) -> Visitor:
    """The visitor with a session: the one of the cookie, or a fresh one."""
    cookie = None
    session = gate.session(request)
    if session is None:
        cookie = gate.open_session(principal)
        session = gate.read_session(cookie)
    if session is None:
        raise ProblemError(503, "No session could be opened.")
    return Visitor(
        request=request,
        services=services,
        principal=principal,
        session=session,
        token=gate.form_token(session),
        cookie=cookie,
        language=language_of(request, services),
        zone=zone_of(request, services.settings.timezone),
        theme=theme_of(request),
    )


def _message(text: str) -> Message:
    """A text of a template, or a machine's word that may be in the catalogue."""
    return text if isinstance(text, Message) else Message(text)


def language_of(request: Request, services: Services) -> str:
    """What the address asks for, what was chosen before, what the browser prefers, the default."""
    for chosen in (
        request.query_params.get("lang"),
        request.cookies.get(LANGUAGE_COOKIE),
        preferred_language(request.headers.get("accept-language", "")),
    ):
        if chosen in languages():
            return chosen
    return services.settings.language


def page(
    visitor: Visitor, template: str, values: Mapping[str, Any], status: int = 200
) -> HTMLResponse:
    """The rendered page, with the cookies it needs."""
    text = (
        environment()
        .get_template(template)
        .render(
            {
                "_": visitor.translate,
                "me": visitor,
                "path": _place(visitor.request),
                "here": _here(visitor),
                "other_languages": _other_languages(visitor),
                "locked": visitor.services.settings.api_key is not None,
                **values,
            }
        )
    )
    response = HTMLResponse(text, status)
    secure = visitor.services.settings.https
    if visitor.cookie is not None:
        response.set_cookie(
            COOKIE,
            visitor.cookie,
            max_age=int(visitor.services.settings.http.session_hours * 3600),
            httponly=True,
            samesite="lax",
            secure=secure,
        )
    if visitor.request.query_params.get("lang") in languages():
        response.set_cookie(
            LANGUAGE_COOKIE,
            visitor.language,
            max_age=31_536_000,
            httponly=True,
            samesite="lax",
            secure=secure,
        )
    return response


def _here(visitor: Visitor) -> str:
    """The address of this page; a language that it asks for would outlast the next choice."""
    query = [(k, v) for k, v in visitor.request.query_params.multi_items() if k != "lang"]
    place = _place(visitor.request)
    return f"{place}?{urlencode(query)}" if query else place


def _other_languages(visitor: Visitor) -> list[tuple[str, str, str]]:
    """Code, name and address of this page in every language but its own."""
    query = [(k, v) for k, v in visitor.request.query_params.multi_items() if k != "lang"]
    place = _place(visitor.request)
    return [
        (code, name_of(code), f"{place}?{urlencode([*query, ('lang', code)])}")
        for code in languages()
        if code != visitor.language
    ]


def _place(request: Request) -> str:
    """Where a page stands; what a form of the settings answers with stands there, too."""
    path = request.url.path
    return "/settings" if path.startswith("/ui/") else path


def problem_page(request: Request, problem: Problem) -> HTMLResponse:
    """A problem as a page that needs neither key nor database."""
    services = services_of(request)
    language = language_of(request, services)

    def translated(text: str) -> str:
        return translate(_message(text), language)

    text = (
        environment()
        .get_template("problem.html")
        .render(
            {"_": translated, "language": language, "problem": problem, "theme": theme_of(request)}
        )
    )
    return HTMLResponse(text, problem.status, dict(problem.headers))
