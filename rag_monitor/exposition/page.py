"""`/metrics` as bytes that are ready before anybody asks for them.

A thread of its own builds a snapshot now and then and writes it out, another one writes out the
counters of this process every second, a third asks whether the database answers. A scrape puts
what is there together: it waits for no database, no lock and no other scrape.

Each part is compressed once. A scraper that is handed megabytes takes them in many pieces, and
between two of them everything else gets its turn; compressed to a twentieth they leave in one.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Final

from rag_monitor import telemetry
from rag_monitor.errors import StoreError
from rag_monitor.exposition.collector import (
    END,
    State,
    content_type,
    state_families,
    text_of,
    text_of_registry,
    value_families,
)
from rag_monitor.exposition.gzip_parts import Part, gzipped, plain
from rag_monitor.exposition.snapshot import Snapshot
from rag_monitor.store.outage import Pulse

COUNTED_EVERY_S: Final = 1.0
BUILT_EVERY_S: Final = 5.0
_REST: Final = 3.0
"""Seconds of rest for each second of building: however long it takes, a quarter of a core at
most."""
MAX_AGE_S: Final = 120.0
"""Older values are not shown: they would look like present ones."""
_FORMATS: Final = (False, True)
_EMPTY: Final = Part.of(b"")
_END: Final = Part.of(END)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Text:
    """The values of a snapshot in one format."""

    whole: Part
    by_project: Mapping[str, Part]
    nothing: Part
    """What a project without samples is shown: what families there are."""

    def of(self, project: str | None) -> Part:
        """Those of a project; None: all."""
        return self.whole if project is None else self.by_project.get(project, self.nothing)


@dataclass(frozen=True, slots=True)
class _Values:
    """A snapshot, written out."""

    built_at: float
    """Monotonic."""
    apps_folded: Mapping[str, int] = field(default_factory=dict)
    texts: Mapping[bool, _Text] = field(default_factory=dict)
    """By whether it is OpenMetrics."""

    @property
    def age_s(self) -> float:
        return time.monotonic() - self.built_at


class MetricsPage:
    """What scrapes are answered with.

    Args:
        build: Makes a snapshot. Runs on a thread of its own, one at a time, while this process
            leads; None for one that never does.
        leads: Whether this process leads: only the leader shows values of the database.
        database: Whether the database answers.
    """

    def __init__(
        self,
        build: Callable[[], Snapshot] | None,
        leads: Callable[[], bool],
        database: Pulse,
    ) -> None:
        self._build = build
        self._leads = leads
        self._database = database
        self._values: _Values | None = None
        self._counters: dict[bool, Part] = {}
        self._stopping = threading.Event()
        self._running = False

    def start(self) -> None:
        """Begin to prepare pages. Without it each page is made when it is asked for."""
        self._write_counters()  # the first scrape has them, however late the thread gets its turn
        self._running = True
        for name, work in (("counters", self._count), ("values", self._keep_building)):
            threading.Thread(target=work, name=f"metrics-{name}", daemon=True).start()

    def stop(self) -> None:
        """End, without waiting for what is under way."""
        self._stopping.set()

    def page(
        self, project: str | None, open_metrics: bool, compressed: bool = False
    ) -> tuple[bytes, str]:
        """The page with the values of a project (None: of all), and its content type.

        Args:
            project: Tenant.
            open_metrics: In OpenMetrics, not in Prometheus's own format.
            compressed: As gzip.
        """
        if not self._running:
            self._refresh()
            self._write_counters()
        up = self._database.up
        leads = up and self._leads()
        values = self._values if leads else None
        if values is not None and values.age_s > MAX_AGE_S:
            values = None
        folded = {} if values is None else values.apps_folded
        state = State(
            store_up=up,
            leads=leads,
            age_s=None if values is None else values.age_s,
            apps_folded=sum(folded.values()) if project is None else folded.get(project, 0),
        )
        parts = [
            self._counters.get(open_metrics, _EMPTY),
            Part.of(text_of(lambda: state_families(state), open_metrics=open_metrics)),
        ]
        if values is not None:
            parts.append(values.texts[open_metrics].of(project))
        if open_metrics:
            parts.append(_END)
        content = gzipped(parts) if compressed else plain(parts)
        return content, content_type(open_metrics=open_metrics)

    def _count(self) -> None:
        while not self._stopping.is_set():
            try:
                self._write_counters()
            except Exception:
                logger.exception("the counters on /metrics are those of a moment ago")
            self._stopping.wait(COUNTED_EVERY_S)

    def _write_counters(self) -> None:
        for form in _FORMATS:
            text = text_of_registry(telemetry.REGISTRY, open_metrics=form)
            self._counters[form] = Part.of(text)

    def _keep_building(self) -> None:
        while not self._stopping.is_set():
            began = time.monotonic()
            self._refresh()
            took = time.monotonic() - began
            self._stopping.wait(max(BUILT_EVERY_S - took, _REST * took))

    def _refresh(self) -> None:
        if self._build is None or not self._leads():
            self._values = None
            return
        began = time.monotonic()
        try:
            self._values = _written(self._build())
        except StoreError:
            # Whoever asks whether the database answers says so in the log.
            telemetry.dropped("exposition", "snapshot_failed")
        except Exception:
            telemetry.dropped("exposition", "snapshot_failed")
            logger.warning("/metrics has no new values from the database", exc_info=True)
        else:
            telemetry.JOB_SECONDS.labels(job="expose").observe(time.monotonic() - began)


def _written(snapshot: Snapshot) -> _Values:
    projects = {project: snapshot.of(project) for project in sorted(snapshot.projects)}
    return _Values(
        built_at=time.monotonic(),
        apps_folded=snapshot.apps_folded,
        texts={form: _text(projects, form) for form in _FORMATS},
    )


def _text(projects: Mapping[str, Snapshot], open_metrics: bool) -> _Text:
    """Every sample written once; what all projects show is put together of their lines."""
    heads = [head for head, _ in _families(Snapshot(), open_metrics)]
    samples = {
        project: [lines for _, lines in _families(snapshot, open_metrics)]
        for project, snapshot in projects.items()
    }
    by_project = {project: _part(heads, lines) for project, lines in samples.items()}
    whole = [b"".join(lines) for lines in zip(*samples.values(), strict=True)]
    return _Text(
        # Most installations have one project: its page is everybody's.
        whole=next(iter(by_project.values())) if len(samples) == 1 else _part(heads, whole),
        by_project=by_project,
        nothing=_part(heads, ()),
    )


def _part(heads: Sequence[bytes], samples: Sequence[bytes]) -> Part:
    """Families with the lines of their samples; none at all where there are no samples."""
    pairs = zip_longest(heads, samples, fillvalue=b"")
    return Part.of(b"".join(part for pair in pairs for part in pair))


_HELP: Final = b"# HELP "


def _families(snapshot: Snapshot, open_metrics: bool) -> list[tuple[bytes, bytes]]:
    """The two lines at the head of each family, and the lines of its samples."""
    text = text_of(lambda: value_families(snapshot), open_metrics=open_metrics)
    families = []
    # Line breaks in labels are escaped, so no sample begins a line like this.
    for family in (b"\n" + text.removesuffix(b"\n")).split(b"\n" + _HELP)[1:]:
        described, typed, *lines = family.split(b"\n", 2)
        head = b"%s%s\n%s\n" % (_HELP, described, typed)
        families.append((head, b"".join(line + b"\n" for line in lines)))
    return families
