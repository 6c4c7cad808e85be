"""The scans find what they are there for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.security.dependency_audit import findings

pytest.importorskip("detect_secrets", reason="detect-secrets is not installed")

from tests.security.secret_scan import scan, tracked

PLANTED = {
    "aws": "AK" + "IAIOSFODNN7EXAMPL3",
    "key": "-----BEGIN RSA " + "PRIVATE KEY-----",
    "github": "gh" + "p_" + "a1B2" * 9,
    "slack": "https://hooks.slack" + ".com/services/T00000000/B00000000/" + "x1" * 12,
}


@pytest.mark.parametrize("kind", PLANTED)
def test_a_planted_credential_is_found(kind: str, tmp_path: Path) -> None:
    file = tmp_path / "settings.py"
    file.write_text(f'value = "{PLANTED[kind]}"\n')

    assert len(scan([file])) >= 1


def test_what_git_keeps_is_what_is_scanned() -> None:
    names = {file.name for file in tracked()}

    assert {"secret_scan.py", "pyproject.toml", "compose.yaml"} <= names


def test_vulnerabilities_are_told_from_no_answer() -> None:
    clean = {"name": "a", "version": "1", "vulns": []}
    bad = {"name": "b", "version": "2", "vulns": [{"id": "CVE-1"}, {"id": "CVE-2"}]}

    assert findings(json.dumps({"dependencies": [clean]})) == []
    assert findings(json.dumps({"dependencies": [clean, bad]})) == ["b 2: CVE-1, CVE-2"]
    assert findings("") is None
    assert findings("ERROR: no network") is None
