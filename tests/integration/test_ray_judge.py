"""Judging on a Ray cluster of several nodes: the same results, whatever dies meanwhile."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from rag_monitor.domain.judgement import Judgement, JudgeRequest, JudgeUsage, Verdict
from rag_monitor.domain.ports import BudgetState, Reservation
from rag_monitor.errors import BudgetExhausted, ConfigurationError, JudgeTimeout, JudgeUnavailable
from rag_monitor.judges import ray as on_ray
from rag_monitor.judges.factory import make_judge
from rag_monitor.judges.judge import Judge
from rag_monitor.judges.ray.options import RayOptions
from rag_monitor.testing import ScriptedJudge
from tests.acceptance.running import eventually
from tests.ray_cluster import HAS_RAY, NODE, WHY_NOT, cluster
from tests.unit.judges.requests import loan, warranty

pytestmark = [
    pytest.mark.skipif(not HAS_RAY, reason=WHY_NOT),
    pytest.mark.slow,
    pytest.mark.timeout(400),
    pytest.mark.filterwarnings("ignore"),
]


@pytest.fixture
def nodes() -> Iterator[list[Any]]:
    """Two nodes with two processors each; those that are left go at the end."""
    shared = cluster()
    added = [shared.add_node(**NODE) for _ in range(2)]
    yield added
    for node in added:
        if node in shared.worker_nodes:
            shared.remove_node(node)


def requests(count: int, judge: Judge) -> list[JudgeRequest]:
    """Different ones, in both languages."""
    return [
        (loan if n % 3 == 0 else warranty)(
            aspects=judge.aspects, key=f"t-{n}", question=f"How long is warranty {n}?"
        )
        for n in range(count)
    ]


def verdicts(results: Sequence[Judgement | Exception]) -> list[object]:
    """What was judged, without the time it took.

    In another process sets have another order, and with it verdicts and the last digit of sums.
    """
    return [
        replace(result, usage=JudgeUsage(), verdicts=tuple(sorted(map(_rounded, result.verdicts))))
        if isinstance(result, Judgement)
        else repr(result)
        for result in results
    ]


def _rounded(verdict: Verdict) -> tuple[object, ...]:
    numbers = [None if n is None else round(n, 9) for n in (verdict.probability, verdict.raw)]
    rest = replace(verdict, probability=0.0, raw=None)
    return (verdict.aspect, verdict.index, repr(rest), *numbers)


def actors() -> dict[int, str]:
    """Actors at work: process id to node."""
    from ray._private import state

    known = state.actors().values()
    return {a["Pid"]: a["Address"]["NodeID"] for a in known if a["State"] == "ALIVE"}


def alive(pid: int) -> bool:
    """Whether the process is there, and no mere memory of one."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def begun(folder: Path) -> list[str]:
    """Keys of the traces that `slowly` began, once for each time."""
    return [path.name.rpartition("-")[0] for path in folder.iterdir() if path.name != "go"]


def scripted(answer: Callable[[JudgeRequest], Judgement | Exception]) -> Judge:
    """A judge that is one function."""
    return ScriptedJudge(answer)


def slowly(folder: str, request: JudgeRequest) -> Judgement:
    """Say that one is at it, then wait for leave to answer."""
    import time

    (Path(folder) / f"{request.key}-{os.getpid()}").touch()
    while not (Path(folder) / "go").exists():
        time.sleep(0.02)
    return Judgement(identity=ScriptedJudge().identity, missing={}, coverage=0.5)


def deadly(request: JudgeRequest) -> Judgement | Exception:
    """One trace ends the process; one is late; one fails in a way that cannot travel."""

    class Odd(Exception):  # noqa: N818
        def __init__(self, one: str, two: str) -> None:
            super().__init__(f"{one} and {two}")

    if request.key == "t-3":
        os.kill(os.getpid(), signal.SIGKILL)
    if request.key == "t-4":
        return JudgeTimeout("after 9 s")
    if request.key == "t-5":
        return Odd("a", "b")
    return Judgement(identity=ScriptedJudge().identity)


async def test_all_nodes_judge_and_the_results_are_those_of_the_judge_itself(
    nodes: list[Any],
) -> None:
    alone = make_judge("embedded", {})
    spread = make_judge(
        "cluster", {"cluster": {"kind": "ray", "judge": "embedded", "actors": 4, "batch": 3}}
    )
    try:
        asked = requests(50, alone)
        eventually(lambda: len(actors()) == 4, 120)

        found = await spread.judge_many(asked)

        assert spread.identity == alone.identity
        assert spread.aspects == alone.aspects
        assert verdicts(found) == verdicts(await alone.judge_many(asked))
        assert set(actors().values()) == {node.node_id for node in nodes}
    finally:
        await spread.close()
    eventually(lambda: not actors(), 60)


@pytest.mark.parametrize("what", ["actor", "node"])
async def test_what_dies_in_the_middle_costs_no_trace_and_no_result_twice(
    nodes: list[Any], tmp_path: Path, what: str
) -> None:
    judge = on_ray.create(
        partial(scripted, partial(slowly, str(tmp_path))),
        RayOptions(judge="slow", actors=4, batch=2),
    )
    try:
        eventually(lambda: len(actors()) == 4, 120)
        asked = requests(20, judge)
        under_way = asyncio.ensure_future(judge.judge_many(asked))
        await asyncio.to_thread(eventually, lambda: len(begun(tmp_path)) == 4, 120)
        at_work = actors()
        if what == "node":
            doomed = [pid for pid, node in at_work.items() if node == nodes[0].node_id]
            await asyncio.to_thread(cluster().remove_node, nodes[0], False)
        else:
            doomed = list(at_work)[:1]
            os.kill(doomed[0], signal.SIGKILL)
        assert doomed
        await asyncio.to_thread(eventually, lambda: not any(map(alive, doomed)), 120)
        (tmp_path / "go").touch()

        found = await asyncio.wait_for(under_way, 200)

        assert [result for result in found if isinstance(result, Exception)] == []
        assert len(found) == 20
        keys = begun(tmp_path)
        assert set(keys) == {request.key for request in asked}
        assert len(keys) > 20, "nothing was judged again, so nothing had died"
    finally:
        await judge.close()


async def test_a_trace_that_ends_its_judge_takes_no_neighbour_with_it(nodes: list[Any]) -> None:
    judge = on_ray.create(partial(scripted, deadly), RayOptions(judge="deadly", actors=2, batch=10))
    try:
        found = await asyncio.wait_for(judge.judge_many(requests(10, judge)), 300)
    finally:
        await judge.close()

    assert [n for n, result in enumerate(found) if isinstance(result, Exception)] == [3, 4, 5]
    assert isinstance(found[3], JudgeUnavailable)
    assert (type(found[4]), str(found[4])) == (JudgeTimeout, "after 9 s")
    assert str(found[5]) == "Odd: a and b"


async def test_when_every_node_is_gone_the_traces_wait(nodes: list[Any], tmp_path: Path) -> None:
    judge = on_ray.create(
        partial(scripted, partial(slowly, str(tmp_path))),
        RayOptions(judge="slow", actors=2, start_s=30),
    )
    try:
        doomed = list(actors())
        for node in nodes:
            await asyncio.to_thread(cluster().remove_node, node, False)
        await asyncio.to_thread(eventually, lambda: not any(map(alive, doomed)), 120)
        (tmp_path / "go").touch()

        found = await asyncio.wait_for(judge.judge_many(requests(4, judge)), 300)

        assert {type(result) for result in found} == {JudgeUnavailable}
        cluster().add_node(**NODE)

        async def again() -> bool:
            results = await judge.judge_many(requests(4, judge))
            return all(isinstance(result, Judgement) for result in results)

        await asyncio.to_thread(eventually, lambda: asyncio.run(again()), 200)
    finally:
        await judge.close()
        for node in list(cluster().worker_nodes):
            cluster().remove_node(node)


def test_a_judge_that_cannot_be_made_fails_with_its_own_words(nodes: list[Any]) -> None:
    tables = {
        "cluster": {"kind": "ray", "judge": "mine"},
        "mine": {"kind": "embedded", "weights": "nowhere.json"},
    }
    with pytest.raises(ConfigurationError) as alone:
        make_judge("mine", tables)

    with pytest.raises(ConfigurationError) as spread:
        make_judge("cluster", tables)

    assert str(spread.value) == str(alone.value)


def test_a_cluster_without_room_is_said_to_have_none(nodes: list[Any]) -> None:
    with pytest.raises(ConfigurationError, match="`cpus` and `gpus`"):
        make_judge(
            "cluster",
            {"cluster": {"kind": "ray", "judge": "embedded", "cpus": 64, "start_s": 2}},
        )


async def test_the_budget_is_kept_by_the_process_that_has_the_database(nodes: list[Any]) -> None:
    class Ledger:
        def __init__(self) -> None:
            self.left = 3
            self.settled: list[JudgeUsage] = []

        def reserve(self, project: str, judge: str, estimate: JudgeUsage) -> Reservation | None:
            self.left -= 1
            day = date(2026, 11, 1)
            held = Reservation(id="r", project=project, judge=judge, day=day, reserved=estimate)
            return held if self.left >= 0 else None

        def extend(self, reservation: Reservation, more: JudgeUsage) -> Reservation | None:
            raise AssertionError(more)

        def note_sent(self, reservation: Reservation, sent: JudgeUsage) -> Reservation:
            raise AssertionError(sent)

        def settle(self, reservation: Reservation, actual: JudgeUsage) -> None:
            self.settled.append(actual)

        def state(self, project: str, judge: str) -> BudgetState:
            return BudgetState(remaining=1.0)

    ledger = Ledger()
    judge = on_ray.create(ScriptedJudge, RayOptions(judge="scripted", batch=1), ledger)
    try:
        found = await judge.judge_many(requests(5, judge))
    finally:
        await judge.close()

    assert [isinstance(result, BudgetExhausted) for result in found] == [False] * 3 + [True] * 2
    assert [usage.input_tokens for usage in ledger.settled] == [100] * 3


_LISTENING = """
import asyncio, json, os, pathlib, re
from rag_monitor.judges.factory import make_judge

def family():
    parents = {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            pass
    found, grew = {os.getpid()}, True
    while grew:
        more = {pid for pid, parent in parents.items() if parent in found} - found
        found, grew = found | more, bool(more)
    return found

def sockets(pids):
    for pid in pids:
        try:
            for link in pathlib.Path(f"/proc/{pid}/fd").iterdir():
                if match := re.fullmatch(r"socket:.(\\d+).", os.readlink(link)):
                    yield match[1]
        except OSError:
            pass

def listening(inodes):
    for table in ("tcp", "tcp6"):
        for line in pathlib.Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            parts = line.split()
            if parts[3] == "0A" and parts[9] in inodes:
                yield parts[1].rpartition(":")[0]

judge = make_judge("here", {"here": {"kind": "ray", "judge": "embedded", "actors": 1}})
pids = family()
lines = [pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode() for pid in pids]
print(json.dumps({
    "addresses": sorted(listening(set(sockets(pids)))),
    "raylets": sum("raylet/raylet" in line for line in lines),
    "told": os.environ["RAY_USAGE_STATS_ENABLED"],
}))
asyncio.run(judge.close())
"""
_LOOPBACK = {"0100007F", "0000000000000000FFFF00000100007F", "0" * 24 + "01000000"}
"""127.0.0.1, as it is and in IPv6, and ::1, as the kernel writes them."""


def test_a_ray_of_ones_own_listens_on_loopback_only(tmp_path: Path) -> None:
    root = Path(__file__).resolve().parents[2]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("RAY_")}

    done = subprocess.run(
        [sys.executable, "-c", _LISTENING],
        cwd=tmp_path,
        env=environment | {"PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["raylets"] >= 1
    assert len(found["addresses"]) > 3
    assert set(found["addresses"]) <= _LOOPBACK
    assert found["told"] == "0"
