"""Writes a report in the form that the file's name asks for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from rag_monitor.errors import ConfigurationError
from rag_monitor.i18n import languages
from rag_monitor.offline.report.html import render_html
from rag_monitor.offline.report.markdown import render_markdown
from rag_monitor.offline.report.model import Report

KINDS: Final = (".html", ".md", ".json")


def check_report(path: Path | None, language: str) -> None:
    """Refuse what cannot be written before any work is done.

    Raises:
        ConfigurationError: An unknown kind of file or language, or a folder that is not there.
    """
    if language not in languages():
        raise ConfigurationError(
            "--language is {languages}, not {language!r}",
            languages=" or ".join(languages()),
            language=language,
        )
    if path is None:
        return
    if path.suffix not in KINDS:
        raise ConfigurationError(
            "--report writes {kinds} files, not {suffix}",
            kinds=", ".join(KINDS),
            suffix=path.suffix or path,
        )
    if not path.absolute().parent.is_dir():
        raise ConfigurationError(
            "--report: there is no folder {folder}", folder=path.absolute().parent
        )


def write_report(report: Report, path: Path, language: str = "en") -> None:
    """Write `report` to `path`: `.html`, `.md` or `.json`."""
    if path.suffix == ".json":
        text = json.dumps(report.as_dict(), ensure_ascii=False, indent=2) + "\n"
    elif path.suffix == ".md":
        text = render_markdown(report, language)
    else:
        text = render_html(report, language)
    path.write_bytes(text.encode("utf-8", "replace"))
