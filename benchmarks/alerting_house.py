"""The alerting side of a monitor over a store of its own, on a manual clock, for simulations."""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from benchmarks.simulated_traffic import APPS, MINUTE, Traffic
from rag_monitor.aggregation.rollup import summarise
from rag_monitor.aggregation.rollup_cache import RollupCache
from rag_monitor.alerting.engine import AlertEngine, Transition
from rag_monitor.alerting.estimates import RULE_OPTIONS, RuleEstimates
from rag_monitor.alerting.rules import check_rule
from rag_monitor.domain.alert import AlertRule
from rag_monitor.store.options import StoreOptions
from rag_monitor.store.store import Store
from rag_monitor.testing import ManualClock

EVERY_MINUTES: Final = 5


class House:
    """The alerting side over a store, on a manual clock."""

    def __init__(self, folder: Path, rules: list[AlertRule], apps: Sequence[str]) -> None:
        self._apps = apps
        self.clock = ManualClock()
        url = f"sqlite:///{folder / 'monitor.db'}"
        self.store = Store.open(StoreOptions(url=url, exclusive=False, ballast_bytes=0), self.clock)
        for rule in rules:
            check_rule(rule)
            self.store.rules.save(rule)
        self.memory = RollupCache(self.store.rollups)
        estimates = RuleEstimates(self.memory, _Catalogue(apps), options=RULE_OPTIONS)
        self.engine = AlertEngine(
            estimates, self.store.rules, self.store.alerts, self.clock, channels=("pager",)
        )
        self.spent: Counter[str] = Counter()
        """CPU seconds by part: what a busy machine does beside it does not count."""

    def step(self, traffic: Traffic) -> list[Transition]:
        """Five minutes of traffic, then one look at every rule."""
        start = self.clock.now()
        facts = self._timed("traffic and judging", lambda: traffic.stretch(start, EVERY_MINUTES))
        rollups = self._timed("summarise", lambda: summarise(facts))
        self.clock.advance(EVERY_MINUTES * MINUTE)
        self._timed("store rollups", lambda: self._keep(start, rollups))
        return self._timed("rules", self._look)

    def _keep(self, start: datetime, rollups: list[Any]) -> None:
        places = [
            ("default", app, start + minute * MINUTE)
            for app in self._apps
            for minute in range(EVERY_MINUTES)
        ]
        self.store.rollups.mark_changed(places, self.clock.now())
        dirty = self.store.rollups.changed(len(places))
        self.store.rollups.replace(dirty, rollups)
        self.memory.invalidate(dirty)

    def _look(self) -> list[Transition]:
        self.memory.begin(self.clock.now())
        return self.engine.run()

    def _timed(self, what: str, work: Callable[[], Any]) -> Any:
        began = time.process_time()
        found = work()
        self.spent[what] += time.process_time() - began
        return found


class _Catalogue:
    def __init__(self, apps: Sequence[str]) -> None:
        self._apps = apps

    def app_names(self, project: str) -> list[str]:
        """Every application."""
        return list(self._apps) if project else []

    def worst(self, *_: object, **__: object) -> list[str]:
        """Single traces are not stored here."""
        return []


@contextmanager
def house(rules: list[AlertRule], apps: Sequence[str] = APPS) -> Iterator[House]:
    """A house of its own, gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        built = House(Path(folder), rules, apps)
        try:
            yield built
        finally:
            built.store.close()
