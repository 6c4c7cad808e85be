"""`rag-monitor doctor --injection`: how easily text sways the configured judge."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from rag_monitor.cli.judging import create_judge
from rag_monitor.cli.output import print_json, print_line
from rag_monitor.cli.words import say
from rag_monitor.errors import RagMonitorError
from rag_monitor.i18n import msgid


def report_injection(settings: Any, families: Path | None, as_json: bool) -> None:
    """Attack the configured judge and print what came of it, family by family.

    Raises:
        ConfigurationError: The file of families cannot be used.
        RagMonitorError: The judge judged none of the attacks.
    """
    identity, rows = asyncio.run(_measure(settings, families))
    tried = sum(row["tried"] for row in rows)
    if not tried:
        raise RagMonitorError(
            "{identity} gave no usable verdict on any attack: {failed} failed, {skipped} are of "
            "traces it gets wrong unattacked; `rag-monitor doctor` checks the judge itself",
            identity=identity,
            failed=sum(r["failed"] for r in rows),
            skipped=sum(r["skipped"] for r in rows),
        )
    if as_json:
        print_json({"judge": identity, "tried": tried, "families": rows})
        return
    text = msgid("judge {judge}, {tried} attacks against controls of the same length")
    print_line(say(text, judge=identity, tried=tried))
    print_line(
        f"{'group family':<32}{'tried':>6}{'flips':>8}{'shift':>8}{'noticed':>9}{'failed':>8}"
    )
    for row in rows:
        name = f"{row['group']}     {row['name']}"
        print_line(
            f"{name[:31]:<32}{row['tried']:>6}{row['flips']:>8.2f}{row['shift']:>+8.2f}"
            f"{row['noticed']:>9.2f}{row['failed']:>8}   {row['bar']}"
        )
    text = msgid("flips and shift are net of the controls; noticed is the share marked suspect")
    print_line(say(text))


async def _measure(settings: Any, families: Path | None) -> tuple[str, list[dict[str, Any]]]:
    from rag_monitor.judges.injection_report import as_rows, measure_injection, read_families

    content = read_families(families)
    judge = create_judge(settings)
    try:
        results = await measure_injection(judge, content)
        return str(judge.identity), as_rows(results)
    finally:
        await judge.close()
