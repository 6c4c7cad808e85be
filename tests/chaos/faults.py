"""What is done to the processes, the database and the judge, and how long each took to recover."""

from __future__ import annotations

import contextlib
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from tests.chaos.cluster import Cluster
from tests.chaos.fleet import Fleet, Member, owner
from tests.chaos.load import Reader, Sender

HOUR = 3600
JUMPS_S = (-HOUR, HOUR, 10 * 24 * HOUR, -40, 0)
_WAIT_S = 90.0
"""How long a recovery is waited for before it counts as none."""


@dataclass
class Recoveries:
    """Seconds until things were normal again, by what had happened."""

    ingest: list[float] = field(default_factory=list)
    """From the database taking connections to an acknowledgement by every ingest process."""
    api: list[float] = field(default_factory=list)
    worker: list[float] = field(default_factory=list)
    """… to the first saved score."""
    judge: list[float] = field(default_factory=list)
    """From the judge answering to the first saved score of it."""
    rerun: list[float] = field(default_factory=list)
    """From a worker's death to the claim of the last of its tasks by somebody else."""
    unmeasured: int = 0
    """Deaths whose tasks could not be followed: the database was away meanwhile."""


class Faults:
    """Does harm to a running deployment, by a seeded draw."""

    def __init__(
        self,
        fleet: Fleet,
        cluster: Cluster,
        judge: Member,
        senders: Sequence[Sender],
        reader: Reader,
        *,
        lease_s: float,
        seed: int,
    ) -> None:
        self.counts: Counter[str] = Counter()
        self.recoveries = Recoveries()
        self.graceful: list[float] = []
        """Seconds from SIGTERM to the end."""
        self.statuses: Counter[int] = Counter()
        """Exit statuses after SIGTERM."""
        self._fleet, self._cluster, self._judge = fleet, cluster, judge
        self._senders, self._reader = senders, reader
        self._lease_s = lease_s
        self._draw = random.Random(seed)
        self._hurt = threading.Lock()
        """Held by whoever hurts somebody: one harm begins at a time."""
        self._stopped: dict[str, Member] = {}
        self._background: list[threading.Thread] = []

    def one(self) -> None:
        """Hurt a random member in a random way."""
        with self._hurt:
            member = self._draw.choice(self._fleet.members)
            kind = self._draw.choices(("kill", "stop", "term", "clock"), (40, 25, 10, 25))[0]
            if not member.runs or member.name in self._stopped:
                return
            self.counts[f"{kind} {member.name.split('-')[0]}"] += 1
            {"kill": self.kill, "stop": self.stop, "term": self.term, "clock": self.jump}[kind](
                member
            )

    def kill(self, member: Member) -> None:
        """SIGKILL; the watcher starts it again. Follows what it had leased."""
        self._fleet.expect_end(member)
        name = owner(member.pid)
        member.send(signal.SIGKILL)
        member.wait()
        if member.name.startswith("worker"):
            self._behind(lambda: self._follow(name, time.monotonic()))

    def stop(self, member: Member) -> None:
        """SIGSTOP, and SIGCONT later; a worker sleeps longer than its lease every other time."""
        seconds = self._draw.uniform(1, 8)
        if member.name.startswith("worker") and self._draw.random() < 0.5:
            seconds = self._lease_s * 1.3
            self.counts["stop worker beyond its lease"] += 1
        self._stopped[member.name] = member
        member.send(signal.SIGSTOP)
        self._behind(lambda: self._wake(member, seconds))

    def term(self, member: Member) -> None:
        """SIGTERM; it must end by itself with 0."""
        self._fleet.expect_end(member)
        process = member.process
        member.send(signal.SIGTERM)
        began = time.monotonic()

        def await_end() -> None:
            assert process is not None
            self.statuses[process.wait(_WAIT_S)] += 1
            self.graceful.append(time.monotonic() - began)

        self._behind(await_end)

    def jump(self, member: Member) -> None:
        """Set its wall clock."""
        member.shift(self._draw.choice(JUMPS_S))

    def death(self) -> None:
        """SIGKILL the worker that has most tasks in hand."""
        with self._calm():
            self.counts["worker killed with tasks in hand"] += 1
            held = dict(
                self._cluster.rows(
                    "SELECT owner, count(*) FROM evaluation_tasks WHERE state = 'leased' GROUP BY 1"
                )
            )
            workers = self._fleet.of("worker")
            self.kill(max(workers, key=lambda member: held.get(owner(member.pid), 0)))

    def database(self, mode: str, seconds: float) -> None:
        """Stop the database, start it after `seconds`, time who is back when."""
        with self._calm():
            self.counts[f"database stopped, {mode}"] += 1
            self._cluster.stop(mode)
            time.sleep(seconds)
            self._cluster.start()
            began, moment = time.monotonic(), self._now()
            seen = self.recoveries
            for role, into, when in (
                ("ingest", seen.ingest, self._acknowledged),
                ("api", seen.api, lambda: self._reader.good),
            ):
                names = {member.name for member in self._fleet.of(role)}
                if not names:
                    continue
                self._until(lambda n=names, w=when: n <= {x for t, x in w() if t > began})
                into.append(
                    max(min(t for t, x in when() if x == n and t > began) for n in names) - began
                )
            self._until(lambda: self._scored_since(moment, ""))
            seen.worker.append(time.monotonic() - began)

    def judge(self, how: str, seconds: float) -> None:
        """Take the judge away, give it back after `seconds`, time its first score."""
        with self._calm():
            self.counts[f"judge away, {how}"] += 1
            if how == "hang":
                self._judge.send(signal.SIGSTOP)
                time.sleep(seconds)
                self._judge.send(signal.SIGCONT)
            else:
                self._judge.send(signal.SIGKILL)
                self._judge.wait()
                time.sleep(seconds)
                self._judge.start()
            self._until(lambda: self._judge.get("/counts") == 200)
            began, moment = time.monotonic(), self._now()
            self._until(lambda: self._scored_since(moment, "openai"))
            self.recoveries.judge.append(time.monotonic() - began)

    def heal(self) -> None:
        """Undo everything that lasts, and wait until everybody answers."""
        with self._calm():
            for member in self._fleet.members:
                member.shift(0)
        for thread in self._background:
            thread.join(_WAIT_S)

    @contextlib.contextmanager
    def _calm(self) -> Iterator[None]:
        """Nobody is hurt meanwhile, and nobody suffers from before."""
        with self._hurt:
            for member in list(self._stopped.values()):
                member.send(signal.SIGCONT)
            self._fleet.ready()
            yield

    def _acknowledged(self) -> list[tuple[float, str]]:
        return [item for sender in self._senders for item in sender.acknowledgements[-200:]]

    def _now(self) -> object:
        return self._cluster.rows("SELECT clock_timestamp()")[0][0]

    def _scored_since(self, moment: object, judge: str) -> bool:
        found = self._cluster.rows(
            "SELECT 1 FROM scores WHERE created_at > %s AND judge LIKE %s AND status = 'scored' "
            "LIMIT 1",
            (moment, f"{judge}%"),
        )
        return bool(found)

    def _until(self, done: Callable[[], bool]) -> None:
        deadline = time.monotonic() + _WAIT_S
        while not done():
            if time.monotonic() > deadline:
                raise AssertionError(f"not normal again after {_WAIT_S:.0f} s")
            time.sleep(0.1)

    def _behind(self, work: Callable[[], None]) -> None:
        thread = threading.Thread(target=work, daemon=True)
        self._background.append(thread)
        thread.start()

    def _wake(self, member: Member, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        process = member.process
        assert process is not None
        while time.monotonic() < deadline and process.poll() is None:
            time.sleep(0.1)
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGCONT)
        self._stopped.pop(member.name, None)

    def _follow(self, name: str, died: float) -> None:
        import psycopg

        held = "SELECT id, token FROM evaluation_tasks WHERE owner = %s AND state = 'leased'"
        try:
            left = set(self._cluster.rows(held, (name,)))
            if not left:
                return
            while left:
                if time.monotonic() - died > _WAIT_S + self._lease_s:
                    break
                time.sleep(0.25)
                left &= set(self._cluster.rows(held, (name,)))
        except psycopg.Error:
            self.recoveries.unmeasured += 1
            return
        self.recoveries.rerun.append(time.monotonic() - died)
