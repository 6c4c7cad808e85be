"""Asks whether installed packages have known vulnerabilities: `make check` runs it.

    python -m tests.security.dependency_audit

Needs the network. Without it, it says so and passes: the machine that has it will tell.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile

_LIMIT_S = 300
_KNOWN_BAD = "urllib3==1.26.4"


def findings(report: str) -> list[str] | None:
    """`package version: ids` of each finding; None when the report is no report."""
    try:
        dependencies = json.loads(report)["dependencies"]
    except (ValueError, KeyError, TypeError):
        return None
    return [
        f"{item['name']} {item['version']}: {', '.join(v['id'] for v in item['vulns'])}"
        for item in dependencies
        if item.get("vulns")
    ]


def ask(arguments: list[str]) -> tuple[list[str] | None, str]:
    """What pip-audit found; None and the reason when it could not ask."""
    command = [sys.executable, "-m", "pip_audit", "--format", "json", "--progress-spinner", "off"]
    try:
        done = subprocess.run(
            [*command, *arguments], capture_output=True, text=True, timeout=_LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired:
        return None, f"no answer within {_LIMIT_S} s"
    reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
    return findings(done.stdout), reason[:200]


def knows_anything() -> tuple[bool, str]:
    """Whether the service knows of a vulnerability that is years old; a mirror may know of none."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as pins:
        pins.write(f"{_KNOWN_BAD}\n")
        pins.flush()
        found, reason = ask(["-r", pins.name, "--no-deps", "--disable-pip"])
    if found:
        return True, ""
    return False, reason if found is None else f"the service knows nothing of {_KNOWN_BAD}"


def main(arguments: list[str]) -> int:
    """Ask; arguments go to pip-audit."""
    able, reason = knows_anything()
    found, failure = ask(["--skip-editable", *arguments]) if able else (None, reason)
    if found is None:
        print(f"dependency audit: could not ask ({failure}); NOT checked")
        return 0
    print("\n".join(found) or "dependency audit: nothing known")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
