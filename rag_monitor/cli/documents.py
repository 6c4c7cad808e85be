"""`rag-monitor documents`: say what knowledge bases hold."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from rag_monitor.cli.output import AsJson, print_fields, print_json
from rag_monitor.cli.remote import DEFAULT_URL, ApiKey, Remote, Url
from rag_monitor.cli.row_file import batches, read_rows
from rag_monitor.cli.words import LanguageOption, fields_in
from rag_monitor.errors import ConfigurationError
from rag_monitor.i18n import ENGLISH

app = typer.Typer(help="Say which documents knowledge bases hold.", no_args_is_help=True)

_PER_REQUEST: Final = 1_000
_FIELDS: Final = ("id", "title", "updated_at", "version", "effective_date")
_LONGEST: Final = 200
_PATH: Final = "/api/v1/documents/inventory"


@app.callback()
def documents() -> None:
    """Keeps `import` a command of its own, though it is the only one."""


@app.command("import")
def import_inventory(
    file: Annotated[
        Path,
        typer.Argument(
            help="CSV with a head, or JSON lines: `id`, and if known `title`, `updated_at`, "
            "`version`, `effective_date`; other columns are left out."
        ),
    ],
    knowledge_base: Annotated[
        str, typer.Option(help="The knowledge base that holds them, as traces name it.")
    ],
    replace: Annotated[
        bool, typer.Option("--replace", help="Documents that the file lacks are taken off.")
    ] = False,
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
    language: LanguageOption = ENGLISH,
    as_json: AsJson = False,
) -> None:
    """Import which documents a knowledge base holds, to see those that are never retrieved."""
    first: str | None = None
    reply: dict[str, Any] = {"documents": 0}
    removed = 0
    with Remote(url, api_key) as monitor:
        documents = (_document(file, row.number, row.value) for row in read_rows(file))
        for part in batches(documents, _PER_REQUEST):
            body = {"knowledge_base": knowledge_base, "documents": part}
            reply = monitor.call("POST", _PATH, body=body)
            first = first or reply["imported_at"]
        if first is None:
            raise ConfigurationError("{path} holds no documents", path=file)
        if replace:
            query = {"knowledge_base": knowledge_base, "before": first}
            removed = monitor.call("DELETE", _PATH, query=query)["removed"]
    shown = {
        "knowledge_base": knowledge_base,
        "documents": reply["documents"] - removed,
        "removed": removed,
    }
    if as_json:
        print_json(shown)
    else:
        print_fields(fields_in(shown, language))


def _document(path: Path, number: int, row: object) -> dict[str, str]:
    if not isinstance(row, Mapping):
        raise ConfigurationError(
            "{path}, row {number}: not a JSON object; write one per line, or name a .csv file",
            path=path,
            number=number,
        )
    given = {name: str(row[name]).strip() for name in _FIELDS if row.get(name) is not None}
    if not given.get("id"):
        raise ConfigurationError(
            "{path}, row {number}: there is no `id`; name the column of ids so",
            path=path,
            number=number,
        )
    return {
        name: value if name == "id" else value[:_LONGEST] for name, value in given.items() if value
    }
