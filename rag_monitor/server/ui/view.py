"""What every page shares: who looks, language and time zone, and the template environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Annotated, Any, Final
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from fastapi import Depends, Request
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from starlette.responses import HTMLResponse

from rag_monitor import __version__
from rag_monitor.alerting.findings.wording import in_zone
from rag_monitor.alerting.notes import note_text
from rag_monitor.domain.alert import Alert, AlertState, Finding
from rag_monitor.domain.stored import KeyScope
from rag_monitor.domain.window import Window
from rag_monitor.metrics.names import told
from rag_monitor.server.auth import COOKIE, Gate, Principal, Session, gate_of, services_of
from rag_monitor.server.context import Services
from rag_monitor.server.problems import Problem, ProblemError
from rag_monitor.server.ui import catalog, charts
from rag_monitor.server.ui.asked import IN_A_HEADING, IN_A_LIST, asked, cut_in
from rag_monitor.server.ui.chinese import CHINESE
from rag_monitor.server.ui.period import Period, period_of

LANGUAGE_COOKIE: Final = "rag_monitor_language"
LANGUAGES: Final = ("en", "zh")
WINDOWS: Final = ("15m", "1h", "6h", "24h", "7d", "30d")
_UNITS: Final = {"m": "{n} min", "h": "{n} h", "d": "{n} d", "w": "{n} w"}
_SHARES: Final = (0.5, 0.9, 0.99)
"""The percentiles of latencies that are shown."""
OPEN_STATES: Final = (AlertState.FIRING, AlertState.PENDING)


@lru_cache(maxsize=1)
def environment() -> Environment:
    """The templates; everything is escaped, and a missing name is an error."""
    found = Environment(
        loader=PackageLoader("rag_monitor.server.ui", "templates"),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.globals.update(
        milliseconds=charts.milliseconds,
        latency_interval=charts.latency_interval,
        interval_bar=charts.interval_bar,
        metric_label=catalog.metric_label,
        metric_help=catalog.metric_help,
        level=catalog.level,
        asked=asked,
        cut_in=cut_in,
        KINDS=catalog.KINDS,
        STATES=catalog.STATES,
        STATUSES=catalog.STATUSES,
        REASONS=catalog.REASONS,
        DRAWN=catalog.DRAWN,
        RULE_KINDS=catalog.RULE_KINDS,
        SEVERITIES=catalog.SEVERITIES,
        SCOPES=catalog.SCOPES,
        THANKS=catalog.THANKS,
        AGREEMENT=catalog.AGREEMENT,
        WINDOWS=WINDOWS,
        SHARES=_SHARES,
        IN_A_LIST=IN_A_LIST,
        IN_A_HEADING=IN_A_HEADING,
        version=__version__,
    )
    found.filters.update(
        score=score_text, figure=figure_text, change=change_text, foreign=foreign_text
    )
    return found


def score_text(value: float | None, digits: int = 2) -> str:
    """A ratio with two digits, or a dash."""
    return "–" if value is None else f"{value:.{digits}f}".replace("-", "−")


def figure_text(value: float | None) -> str:
    """A rule's number: a ratio with three digits, a count or milliseconds without any."""
    if value is None or abs(value) <= 1:
        return score_text(value, 3)
    return f"{value:,.1f}".removesuffix(".0")


def foreign_text(value: float) -> str:
    """A number on a scale of which nothing is known: four digits that count."""
    return f"{value:.4g}".replace("-", "−")


def change_text(value: float, digits: int = 2) -> str:
    """A difference of ratios with its sign."""
    text = f"{value:+.{digits}f}".replace("-", "−")
    return text if text.strip("+−0.") else f"{0:.{digits}f}"


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

    def translate(self, text: str, **values: object) -> str:
        """The text in the visitor's language, with `{names}` filled in."""
        if self.language == "zh":
            found = CHINESE.get(text, text)
        else:
            found = catalog.SINGULAR.get(text, text) if values.get("n") == 1 else text
        return found.format(**values) if values else found

    def allows(self, scope: str) -> bool:
        """Whether the visitor's key covers `scope`."""
        return self.principal.allows(KeyScope(scope))

    def local(self, moment: datetime | None, style: str = "%Y-%m-%d %H:%M:%S") -> str:
        """A moment in the configured time zone."""
        return "–" if moment is None else moment.astimezone(self.zone).strftime(style)

    def ago(self, moment: datetime) -> str:
        """How long ago, in one unit."""
        seconds = max(0.0, (self.services.clock.now() - moment).total_seconds())
        for size, text in ((86_400, "{n} d ago"), (3600, "{n} h ago"), (60, "{n} min ago")):
            if seconds >= size:
                return self.translate(text, n=int(seconds // size))
        return self.translate("just now")

    def spoken(self, text: str) -> str:
        """A sentence of the alerts: metrics as the pages call them, times in the pages' zone."""
        return told(in_zone(text, self.zone), self.language, own_name=False)

    def duration(self, seconds: float) -> str:
        """A length of time in its largest whole unit: 45 s, 10 min, 2 h, 7 d."""
        number, unit = charts.duration(seconds)
        return self.translate(unit, n=f"{number:g}")

    def rule(self, name: str) -> str:
        """A shipped rule in the visitor's language; one that somebody wrote as they called it."""
        return self.translate(catalog.RULES[name]) if name in catalog.RULES else name

    def span(self, window: str) -> str:
        """The name of a window for people; English reads its short form."""
        return (
            self.translate(_UNITS[window[-1]], n=window[:-1]) if self.language == "zh" else window
        )

    def reason(self, word: str) -> str:
        """A machine word in the visitor's language; one that nobody knows stays as it is."""
        return self.translate(catalog.REASONS.get(word, word))

    def note(self, word: str) -> str:
        """What stands beside a number, in the visitor's language."""
        said = note_text(word, self.language)
        return said if said != word else self.reason(word)

    def notes(self, finding: Finding) -> list[str]:
        """What stands beside a finding's numbers, without what its sentence says already."""
        sentence = (finding.summary_zh if self.language == "zh" else "") or finding.summary
        return [said for said in map(self.note, finding.notes) if said not in sentence]

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

    def period(self, default: str = "24h") -> Period:
        """The stretch of time that was chosen."""
        query, now = self.request.query_params, self.services.clock.now()
        return period_of(query, now, self.zone, default)

    def between(self, window: Window) -> str:
        """The ends of a window, as far as they differ."""
        style = "%m-%d %H:%M" if window.length < timedelta(days=300) else "%Y-%m-%d"
        start, end = (self.local(moment, style) for moment in (window.start, window.end))
        day, _, time = end.partition(" ")
        return f"{start} – {time if time and start.startswith(day) else end}"

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
        zone=ZoneInfo(services.options.timezone),
    )


def language_of(request: Request, services: Services) -> str:
    """What the address asks for, what was chosen before, what the browser prefers, the default."""
    for chosen in (
        request.query_params.get("lang"),
        request.cookies.get(LANGUAGE_COOKIE),
        _preferred(request.headers.get("accept-language", "")),
    ):
        if chosen in LANGUAGES:
            return chosen
    return services.options.language


def _preferred(header: str) -> str | None:
    """The language with the largest weight in `Accept-Language` that the pages speak (RFC 9110)."""
    weighted = []
    for place, part in enumerate(header[:500].split(",")):
        tag, _, weight = part.strip().partition(";q=")
        language = tag.partition("-")[0].lower()
        try:
            q = float(weight) if weight else 1.0
        except ValueError:
            continue
        if language in LANGUAGES and q > 0:
            weighted.append((-q, place, language))
    return min(weighted)[2] if weighted else None


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
                "other_language": _other_language(visitor),
                "locked": visitor.services.options.api_key is not None,
                **values,
            }
        )
    )
    response = HTMLResponse(text, status)
    secure = (visitor.services.options.public_url or "").startswith("https://")
    if visitor.cookie is not None:
        response.set_cookie(
            COOKIE,
            visitor.cookie,
            max_age=int(visitor.services.options.session_hours * 3600),
            httponly=True,
            samesite="lax",
            secure=secure,
        )
    if visitor.request.query_params.get("lang") in LANGUAGES:
        response.set_cookie(
            LANGUAGE_COOKIE,
            visitor.language,
            max_age=31_536_000,
            httponly=True,
            samesite="lax",
            secure=secure,
        )
    return response


def _other_language(visitor: Visitor) -> str:
    """This page in the other language."""
    query = [(k, v) for k, v in visitor.request.query_params.multi_items() if k != "lang"]
    query.append(("lang", "en" if visitor.language == "zh" else "zh"))
    return f"{_place(visitor.request)}?{urlencode(query)}"


def _place(request: Request) -> str:
    """Where a page stands; what a form of the settings answers with stands there, too."""
    path = request.url.path
    return "/settings" if path.startswith("/ui/") else path


def problem_page(request: Request, problem: Problem) -> HTMLResponse:
    """A problem as a page that needs neither key nor database."""
    services = services_of(request)
    language = language_of(request, services)
    if problem.kind == "not-found" and problem.detail not in CHINESE:
        # What the store says names ids and projects; a person wants to know that it is gone.
        problem = replace(problem, detail="This is not there any more.")

    def translate(text: str, **values: object) -> str:
        found = CHINESE.get(text, text) if language == "zh" else text
        return found.format(**values) if values else found

    text = (
        environment()
        .get_template("problem.html")
        .render({"_": translate, "language": language, "problem": problem})
    )
    return HTMLResponse(text, problem.status, dict(problem.headers))
