"""Schemathesis over the OpenAPI document, against a monitor process of its own.

    python -m tests.security.fuzz                    # SQLite, and PostgreSQL where one answers
    python -m tests.security.fuzz --cases 20000 --database sqlite

Prints one JSON line per database; exits 1 when an answer was a 5xx, did not match the document,
or was a success where the document promised a refusal. `make fuzz` runs it.

Several schemathesis processes attack the same monitor side by side, each with a seed of its own.
The first also does what no seed changes (examples, coverage); the others only what a seed varies,
so that no case is counted twice. Processes, not `--workers`: Python 3.11 counts the depth of
`ast.parse` across threads, and two of Hypothesis's at once end in "AST constructor recursion depth
mismatch".
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.acceptance.running import Monitor, eventually, http, monitor
from tests.security.databases import new_database

KEY = "fuzz-key"
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "missing_required_header",
    "unsupported_method",
    "allow_header_conformance",
    "use_after_free",
)
"""Not `ignored_auth`: its many wrong keys meet our 429. `test_penetration` looks at that."""
_PER_EXAMPLE = 27
"""About so many cases for each `--max-examples`: one per operation; the fixed part comes on top."""
_SEEDED = ("fuzzing", "stateful")
"""The phases in which a seed makes other cases."""
_TRACE = {
    "app": "bank-faq",
    "question": "How long is the warranty?",
    "contexts": ["The standard warranty lasts 24 months."],
    "answer": "The warranty lasts 24 months.",
    "user_id": "mei",
}


@dataclass(frozen=True, slots=True)
class Attack:
    """What one schemathesis process is asked to do."""

    seed: int
    examples: int
    """Cases for each operation and phase, about."""
    phases: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the attacks on one monitor found together."""

    database: str
    seeds: tuple[int, ...]
    cases: int
    failures: int
    errors: int
    unexpected: int
    """Tracebacks in the log of the monitor."""
    codes: tuple[int, ...]
    """Exit statuses of the processes; negative: ended by that signal, which the limit does."""
    seconds: float
    report: str

    @property
    def clean(self) -> bool:
        """Whether nothing was found."""
        return not (self.failures or self.errors or self.unexpected or any(self.codes))


def attacks(cases: int, processes: int, seed: int) -> list[Attack]:
    """Share `cases` among processes with the seeds `seed`, `seed` + 1 and so on."""
    examples = max(1, cases // (_PER_EXAMPLE * processes))
    return [
        Attack(
            seed=seed + number,
            examples=examples,
            phases=_SEEDED if number else ("examples", "coverage", *_SEEDED),
        )
        for number in range(processes)
    ]


def run(folder: Path, database_url: str, planned: Sequence[Attack], *, limit_s: int) -> Outcome:
    """Start a monitor on the database, attack it, and stop it; `limit_s` is for all together."""
    with monitor(folder, database_url, RAG_MONITOR_API_KEY=KEY) as target:
        _furnish(target)
        return _attack(target, planned, limit_s)


def _furnish(target: Monitor) -> None:
    """Something to find: a trace with its scores."""
    headers = {"X-API-Key": KEY, "Content-Type": "application/json"}
    sent = http("POST", f"{target.url}/api/v1/traces", json.dumps(_TRACE).encode(), headers)
    assert sent.status == 200, sent.body
    path = f"{target.url}/api/v1/traces/{sent.json['trace_ids'][0]}"
    eventually(lambda: http("GET", path, headers=headers).status == 200)


def _attack(target: Monitor, planned: Sequence[Attack], limit_s: int) -> Outcome:
    document = target.folder / "openapi.json"
    document.write_bytes(http("GET", f"{target.url}/openapi.json", headers={"X-API-Key": KEY}).body)
    began = time.monotonic()
    started = [_start(target, document, attack) for attack in planned]
    codes = [_wait(process, began + limit_s) for process in started]
    texts = [_log(target, attack).read_text(errors="replace") for attack in planned]
    return Outcome(
        database=target.database_url.split(":", 1)[0],
        seeds=tuple(attack.seed for attack in planned),
        cases=sum(_number(r"(\d+) generated", text) for text in texts),
        failures=sum(_number(r"(\d+) found", text) for text in texts),
        errors=sum(_number(r"(\d+) errored", text) for text in texts),
        unexpected=target.log.read_text(errors="replace").count("Traceback"),
        codes=tuple(codes),
        seconds=round(time.monotonic() - began, 1),
        report="\n".join(texts),
    )


def _log(target: Monitor, attack: Attack) -> Path:
    return target.folder / f"schemathesis-{attack.seed}.log"


def _start(target: Monitor, document: Path, attack: Attack) -> subprocess.Popen[bytes]:
    """A folder for each: they keep a database of examples where they run."""
    place = target.folder / f"attack-{attack.seed}"
    place.mkdir()
    with _log(target, attack).open("wb") as written:
        return subprocess.Popen(
            [
                *(sys.executable, "-m", "schemathesis.cli", "run", str(document)),
                *("--url", target.url, "--header", f"X-API-Key: {KEY}"),
                *("--checks", ",".join(CHECKS), "--phases", ",".join(attack.phases)),
                *("--max-examples", str(attack.examples), "--seed", str(attack.seed)),
                *("--continue-on-failure", "--no-shrink", "--suppress-health-check", "all"),
                *("--request-timeout", "60", "--workers", "1", "--no-color"),
            ],
            cwd=place,
            stdout=written,
            stderr=subprocess.STDOUT,
        )


def _wait(process: subprocess.Popen[bytes], deadline: float) -> int:
    try:
        return process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def _number(pattern: str, text: str) -> int:
    found = re.findall(pattern, text)
    return int(found[-1]) if found else 0


def main() -> int:
    """Run on each database asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cases", type=int, default=10_000, help="at least so many per database")
    parser.add_argument("--database", choices=("sqlite", "postgresql"), action="append")
    parser.add_argument("--seed", type=int, default=1, help="of the first process")
    parser.add_argument("--processes", type=int, default=max(2, os.cpu_count() or 2))
    parser.add_argument("--limit-s", type=int, default=3600)
    given = parser.parse_args()
    clean = True
    for kind in given.database or ("sqlite", "postgresql"):
        with tempfile.TemporaryDirectory() as name, new_database(kind, Path(name)) as url:
            planned = attacks(given.cases, given.processes, given.seed)
            outcome = run(Path(name), url, planned, limit_s=given.limit_s)
        if not outcome.clean:
            print(outcome.report)
        if outcome.cases < given.cases:
            print(f"only {outcome.cases} cases, {given.cases} wanted")
        clean = clean and outcome.clean and outcome.cases >= given.cases
        print(json.dumps({k: v for k, v in asdict(outcome).items() if k != "report"}), flush=True)
    return 0 if clean else 1


if __name__ == "__main__":
    raise SystemExit(main())
