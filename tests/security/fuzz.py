"""Schemathesis over the OpenAPI document, against a monitor process of its own.

    python -m tests.security.fuzz                    # SQLite, and PostgreSQL where one answers
    python -m tests.security.fuzz --cases 20000 --database sqlite

Prints one JSON line per database; exits 1 when an answer was a 5xx, did not match the document,
or was a success where the document promised a refusal. `make fuzz` runs it.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
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
_TRACE = {
    "app": "bank-faq",
    "question": "How long is the warranty?",
    "contexts": ["The standard warranty lasts 24 months."],
    "answer": "The warranty lasts 24 months.",
    "user_id": "mei",
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one run found."""

    database: str
    cases: int
    failures: int
    errors: int
    unexpected: int
    """Tracebacks in the log of the monitor."""
    code: int
    seconds: float
    report: str

    @property
    def clean(self) -> bool:
        """Whether nothing was found."""
        return not (self.failures or self.errors or self.unexpected or self.code)


def run(
    folder: Path, database_url: str, *, examples: int, seed: int, phases: str, limit_s: int
) -> Outcome:
    """Start a monitor on the database, attack it, and stop it."""
    with monitor(folder, database_url, RAG_MONITOR_API_KEY=KEY) as target:
        _furnish(target)
        return _attack(target, examples=examples, seed=seed, phases=phases, limit_s=limit_s)


def _furnish(target: Monitor) -> None:
    """Something to find: a trace with its scores."""
    headers = {"X-API-Key": KEY, "Content-Type": "application/json"}
    sent = http("POST", f"{target.url}/api/v1/traces", json.dumps(_TRACE).encode(), headers)
    assert sent.status == 200, sent.body
    path = f"{target.url}/api/v1/traces/{sent.json['trace_ids'][0]}"
    eventually(lambda: http("GET", path, headers=headers).status == 200)


def _attack(target: Monitor, *, examples: int, seed: int, phases: str, limit_s: int) -> Outcome:
    document = target.folder / "openapi.json"
    headers = {"X-API-Key": KEY}
    document.write_bytes(http("GET", f"{target.url}/openapi.json", headers=headers).body)
    log = target.folder / "schemathesis.log"
    with log.open("wb") as written:
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "schemathesis.cli", "run", str(document)),
                *("--url", target.url, "--header", f"X-API-Key: {KEY}"),
                *("--checks", ",".join(CHECKS), "--phases", phases),
                *("--max-examples", str(examples), "--seed", str(seed), "--no-color"),
                *("--continue-on-failure", "--no-shrink", "--suppress-health-check", "all"),
                # One worker: Python 3.11 counts the depth of `ast.parse` across threads, and two
                # of Hypothesis's at once end in "AST constructor recursion depth mismatch".
                *("--request-timeout", "60", "--workers", "1"),
            ],
            cwd=target.folder,
            stdout=written,
            stderr=subprocess.STDOUT,
        )
        try:
            code = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            process.kill()
            code = process.wait()
    text = log.read_text(errors="replace")
    return Outcome(
        database=target.database_url.split(":", 1)[0],
        cases=_number(r"(\d+) generated", text),
        failures=_number(r"(\d+) found", text),
        errors=_number(r"(\d+) errored", text),
        unexpected=target.log.read_text(errors="replace").count("Traceback"),
        code=code,
        seconds=float(_number(r"in (\d+)\.\d+s =+", text)),
        report=text,
    )


def _number(pattern: str, text: str) -> int:
    found = re.findall(pattern, text)
    return int(found[-1]) if found else 0


def main() -> int:
    """Run on each database asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cases", type=int, default=10_000, help="at least so many per database")
    parser.add_argument("--database", choices=("sqlite", "postgresql"), action="append")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit-s", type=int, default=3600)
    given = parser.parse_args()
    clean = True
    for kind in given.database or ("sqlite", "postgresql"):
        with tempfile.TemporaryDirectory() as name, new_database(kind, Path(name)) as url:
            outcome = run(
                Path(name),
                url,
                examples=max(1, given.cases // _PER_EXAMPLE),
                seed=given.seed,
                phases="examples,coverage,fuzzing,stateful",
                limit_s=given.limit_s,
            )
        if not outcome.clean:
            print(outcome.report)
        if outcome.cases < given.cases:
            print(f"only {outcome.cases} cases, {given.cases} wanted")
        clean = clean and outcome.clean and outcome.cases >= given.cases
        print(json.dumps({k: v for k, v in asdict(outcome).items() if k != "report"}), flush=True)
    return 0 if clean else 1


if __name__ == "__main__":
    raise SystemExit(main())
