"""Charts and highlighting."""

from __future__ import annotations

from datetime import timedelta

from rag_monitor.domain.judgement import Aspect, JudgeIdentity, Verdict
from rag_monitor.domain.score import Score, ScoreStatus
from rag_monitor.domain.trace import Timings
from rag_monitor.domain.window import Estimate, Series, Window
from rag_monitor.server.ui.charts import (
    interval_bar,
    milliseconds,
    phases_of,
    sparkline,
    timeline,
)
from rag_monitor.server.ui.highlight import answer_pieces, passage_views, support_verdicts
from rag_monitor.testing import EPOCH, make_trace


def point(number: int, value: float | None) -> Estimate:
    start = EPOCH + timedelta(hours=number)
    return Estimate(
        series=Series(project="p", app="a", metric="faithfulness", judge="combined"),
        window=Window(start, start + timedelta(hours=1)),
        value=value,
        lower=None if value is None else value - 0.1,
        upper=None if value is None else value + 0.1,
    )


def says(start: int | None, end: int | None, p: float = 0.9, index: int = 0) -> Verdict:
    return Verdict(aspect=Aspect.SUPPORT, probability=p, start=start, end=end, index=index)


def test_a_gap_in_the_data_is_a_gap_in_the_line() -> None:
    svg = sparkline([point(n, None if n == 2 else 0.8) for n in range(6)], "x")

    assert svg.count("<polyline") == 2
    assert svg.count("<polygon") == 2


def test_a_line_of_nothing_is_nothing() -> None:
    assert sparkline([point(0, None)], "x") == ""


def test_labels_of_charts_are_escaped() -> None:
    assert 'aria-label="&lt;b&gt;&#34;"' in interval_bar(0.5, 0.4, 0.6, '<b>"')


def test_phases_meet_where_generation_begins() -> None:
    trace = make_trace(
        timings=Timings(end_to_end_ms=1000.0, generation_ms=700.0, retrieval_ms=200.0)
    )

    phases = {p.kind: (p.start, p.end) for p in phases_of(trace, str)}

    assert phases == {"whole": (0, 1000), "retrieval": (100, 300), "generation": (300, 1000)}


def test_timings_that_contradict_one_another_still_draw() -> None:
    trace = make_trace(timings=Timings(end_to_end_ms=0.0, generation_ms=700.0, retrieval_ms=900.0))

    assert "<svg" in timeline(phases_of(trace, str), 5.0, "first", "label")
    assert timeline([], None, "first", "label") == ""


def test_durations_read_like_durations() -> None:
    assert [milliseconds(v) for v in (None, 84.2, 1240.0, 81_920.0)] == [
        "–",
        "84 ms",
        "1.24 s",
        "81.9 s",
    ]


def test_the_pieces_make_up_the_whole_answer() -> None:
    answer = "甲是乙。丙是丁。 End"
    verdicts = [says(4, 8, 0.1, 1), says(0, 4), says(2, 6), says(7, 900), says(None, None)]

    pieces = answer_pieces(answer, verdicts)

    assert "".join(p.text for p in pieces) == answer
    assert [p.verdict.holds if p.verdict else None for p in pieces] == [True, False, None]


def test_an_outside_judge_speaks_before_the_embedded_one() -> None:
    def score(name: str, p: float) -> Score:
        return Score(
            metric="faithfulness",
            status=ScoreStatus.SCORED,
            judge=JudgeIdentity(name=name, model="m"),
            verdicts=(
                says(0, 1, p),
                Verdict(aspect=Aspect.RELEVANCE, probability=p, index=0),
            ),
        )

    scores = (score("embedded-lexical", 0.1), score("packed", 0.9))

    assert support_verdicts(scores)[0].probability == 0.9
    view = passage_views(scores, 2)
    assert view[0].relevant is not None
    assert view[0].relevant.probability == 0.9
    assert view[1].relevant is None
