"""From judged tasks to what was at fault in them, with a search for what retrieval missed."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

from rag_monitor import telemetry
from rag_monitor.domain.clock import Clock
from rag_monitor.domain.fault import Diagnosis
from rag_monitor.domain.stored import EvaluationTask
from rag_monitor.domain.trace import Trace
from rag_monitor.errors import StoreUnavailable
from rag_monitor.evaluation.fault import decide, needs_search, searched
from rag_monitor.evaluation.fault_signals import Signals, read_signals
from rag_monitor.evaluation.missed_passage import PassageIndex, search_earlier
from rag_monitor.evaluation.pipeline import Outcome
from rag_monitor.metrics.rag import passages_of
from rag_monitor.store.earlier_passages import EarlierPassages

_LOG: Final = logging.getLogger(__name__)

_FRESH_S: Final = 60.0
"""How long the passages of an application are kept to be searched again."""
_KEPT: Final = 16
"""Applications whose passages are kept."""
_SEARCHES: Final = 50
"""Traces of one batch that are searched for; the others keep both probabilities."""

_Key = tuple[str, str, frozenset[str]]


class FaultFinder:
    """Diagnoses batches of judged traces. Blocks: call it on a thread; any number may."""

    def __init__(self, passages: EarlierPassages, clock: Clock) -> None:
        self._passages = passages
        self._clock = clock
        self._kept: dict[_Key, tuple[float, PassageIndex]] = {}

    def diagnose(
        self, tasks: Sequence[EvaluationTask], outcomes: Sequence[Outcome]
    ) -> dict[int, Diagnosis]:
        """What was at fault, by the id of the task, where there are scores to tell it from."""
        diagnoses: dict[int, Diagnosis] = {}
        left = _SEARCHES
        for task, outcome in zip(tasks, outcomes, strict=True):
            judge = _judge_of(outcome)
            if judge is None:
                continue
            try:
                signals = read_signals(task.trace, outcome.scores)
                if signals is None:
                    continue
                if left and needs_search(signals):
                    left -= 1
                    try:
                        signals = self._searched(task, signals)
                    except StoreUnavailable as error:
                        # Whoever writes next says that the database does not answer.
                        _LOG.info("passages are not searched: %s", error)
                        left = 0  # each further try would wait as long
                diagnoses[task.id] = decide(signals, judge)
            except Exception:  # noqa: BLE001 - one odd trace must not cost the scores of a batch
                _LOG.exception("trace %s: its fault cannot be told", task.trace.trace_id)
                telemetry.dropped("fault", "failed")
        return diagnoses

    def _searched(self, task: EvaluationTask, signals: Signals) -> Signals:
        trace = task.trace
        contexts = passages_of(trace) or ()
        returned = {d.content for r in trace.retrievals for d in r.documents if d.content}
        # What this trace retrieved itself may be newer than the passages that are kept.
        indexes = (PassageIndex(sorted(returned)), self._earlier(task.project, trace))
        passages = {text for index in indexes for text in index.texts}
        if passages.issubset(contexts):
            return signals  # there is nothing to search
        search = search_earlier(trace.query or "", contexts, indexes)
        cut_off = search.missed is not None and search.missed.text in returned
        return searched(signals, len(passages), search, cut_off=cut_off)

    def _earlier(self, project: str, trace: Trace) -> PassageIndex:
        key = (project, trace.app, _knowledge_bases(trace))
        now = self._clock.monotonic()
        kept = self._kept.get(key)
        if kept is not None and now - kept[0] < _FRESH_S:
            return kept[1]
        index = PassageIndex(self._passages.newest(*key))
        others = [item for item in self._kept.items() if item[0] != key]
        self._kept = dict(others[1 - _KEPT :]) | {key: (now, index)}
        return index


def _judge_of(outcome: Outcome) -> str | None:
    """Who judged; None: nobody, or it will be judged again."""
    if outcome.retry_reason is not None:
        return None
    return next((str(score.judge) for score in outcome.scores if score.judge is not None), None)


def _knowledge_bases(trace: Trace) -> frozenset[str]:
    """Those that a trace retrieved from; empty: it names none."""
    return frozenset(r.knowledge_base for r in trace.retrievals if r.knowledge_base)
