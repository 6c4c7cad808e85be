"""Injection success of a judge, per family of attacks, net of equally long harmless controls.

    python -m benchmarks.injection FAMILIES.json --base-url http://localhost:8000/v1 --model NAME
    python -m benchmarks.injection FAMILIES.json --packed /models/NAME

Prints one JSON object. Families that attack the parser need no model and are held by the tests.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from pathlib import Path

from rag_monitor.judges import openai_compatible, packed
from rag_monitor.judges.injection_report import as_rows, measure_injection, read_families
from rag_monitor.judges.judge import Judge


def make_judge(options: argparse.Namespace) -> Judge:
    """The judge the command line names."""
    if options.packed:
        return packed.create({"model": options.packed})
    settings = {"base_url": options.base_url, "model": options.model, "probe_every": 0}
    return openai_compatible.create(settings | {"api_key": options.api_key})


async def measure(options: argparse.Namespace) -> dict[str, object]:
    """Ask the judge everything and close it."""
    judge = make_judge(options)
    try:
        rows = as_rows(await measure_injection(judge, read_families(options.families)))
    finally:
        await judge.close()
    return {"judge": str(judge.identity), "families": rows}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("families", type=Path)
    parser.add_argument("--packed", help="folder of a local model")
    parser.add_argument("--base-url", default="http://127.0.0.1:8000/v1")
    parser.add_argument("--model", default="judge")
    parser.add_argument("--api-key", default="none")
    print(json.dumps(asyncio.run(measure(parser.parse_args())), indent=2, ensure_ascii=False))


if __name__ == "__main__":
    main()
