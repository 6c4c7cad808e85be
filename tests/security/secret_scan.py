"""Looks for credentials in every tracked file: `make check` runs it.

    python -m tests.security.secret_scan

Only patterns that name their owner (cloud keys, tokens, private keys, webhooks): entropy and the
word "password" find ids and examples here, and a scan that cries wolf is not read.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from pathlib import Path

from detect_secrets.core.scan import scan_file
from detect_secrets.settings import transient_settings

ROOT = Path(__file__).resolve().parents[2]
PLUGINS = (
    "ArtifactoryDetector",
    "AWSKeyDetector",
    "AzureStorageKeyDetector",
    "DiscordBotTokenDetector",
    "GitHubTokenDetector",
    "GitLabTokenDetector",
    "JwtTokenDetector",
    "MailchimpDetector",
    "NpmDetector",
    "OpenAIDetector",
    "PrivateKeyDetector",
    "PypiTokenDetector",
    "SendGridDetector",
    "SlackDetector",
    "SquareOAuthDetector",
    "StripeDetector",
    "TelegramBotTokenDetector",
    "TwilioKeyDetector",
)
BINARY = frozenset({".gz", ".onnx", ".parquet", ".png", ".safetensors", ".svg"})


def tracked() -> list[Path]:
    """The files git keeps, without binary ones."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    files = [ROOT / name for name in listed.stdout.split("\0") if name]
    return [file for file in files if file.suffix not in BINARY and file.is_file()]


def scan(files: Iterable[Path]) -> list[str]:
    """`file:line: kind` of each credential found; lines may say `pragma: allowlist secret`."""
    settings = {
        "plugins_used": [{"name": name} for name in PLUGINS],
        "filters_used": [{"path": "detect_secrets.filters.allowlist.is_line_allowlisted"}],
    }
    with transient_settings(settings):
        return [
            f"{found.filename}:{found.line_number}: {found.type}"
            for file in files
            for found in scan_file(str(file))
        ]


def main() -> int:
    """Scan, say what was found."""
    files = tracked()
    found = scan(files)
    print("\n".join(found) or f"no credentials in {len(files)} files")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
