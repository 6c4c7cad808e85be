"""Write measured figures into the model card, so that no table there is typed by hand.

Usage: `python -m benchmarks.embedded_judge.card FIGURES.json ...`
Takes what `evaluate`, `injection`, `encoder` and `encoder_relevance` printed, told apart by their
content, and replaces the tables between `<!-- figures: NAME -->` and `<!-- end -->` in
`docs/model-card.md`. Tables whose figures are not given stay as they are; an unknown file or a
missing place is an error.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

CARD = Path(__file__).resolve().parents[2] / "docs" / "model-card.md"
TITLES = {
    "ragtruth": "RAGTruth-QA dev",
    "wice": "WiCE dev, whole articles",
    "wice_oracle": "WiCE dev, oracle chunks",
    "expertqa": "ExpertQA claims",
    "halueval_qa": "HaluEval QA (length gives it away)",
    "ocnli": "OCNLI dev (zh)",
    "rgb_en_fact_ans": "RGB en (construction)",
    "rgb_zh_fact_ans": "RGB zh facts (construction)",
    "rgb_zh_refine_ans": "RGB zh refine (construction)",
}


EVERYDAY_TITLES = {
    "everyday_en": "English, the first (learnt from)",
    "everyday_zh": "Chinese, the first (learnt from)",
    "everyday_later_en": "English, later",
    "everyday_later_zh": "Chinese, later",
    "everyday_third_en": "English, the third (learnt from)",
    "everyday_fourth_en": "English, the fourth (nobody looked at)",
}


def between(figures: list[float]) -> str:
    """An interval as text."""
    return f"[{figures[0]:.3f}, {figures[1]:.3f}]"


def row(*cells: object) -> str:
    """One line of a table."""
    return "| " + " | ".join(map(str, cells)) + " |"


def head(*names: str) -> list[str]:
    """The first two lines of a table."""
    return [row(*names), "|" + "---|" * len(names)]


def support(found: dict[str, Any]) -> dict[str, str]:
    """The tables of `evaluate`: support, generators, keywords, what one line says."""
    sets = found["answer_supported"]
    table = head(
        "data", "rows / unsupported", "AUROC `answer_supported`", "AUROC `faithfulness`",
        "F1 (P / R)", "BAcc", "ECE", "Brier / base rate", "learnt from",
    )  # fmt: skip
    for name, s in sets.items():
        table.append(
            row(
                TITLES.get(name, name),
                f"{s['judged']} / {s['unsupported']}",
                f"{s['auroc']:.3f} {between(s['auroc_interval'])}",
                f"{s['auroc_faithfulness']:.3f}",
                f"{s['f1']:.3f} ({s['precision']:.3f} / {s['recall']:.3f})",
                f"{s['balanced_accuracy']:.3f}",
                f"{s['ece']:.3f}",
                f"{s['brier']:.4f} / {s['brier_of_base_rate']:.4f}",
                "yes" if s["in_training"] else "no",
            )
        )
    rag, words = sets["ragtruth"], found["uhgeval_keywords"]
    generators = head("RAGTruth generator", "rows", "unsupported", "AUROC")
    for model, (rows, bad, area) in rag["by_generator"].items():
        generators.append(row(model, rows, bad, f"{area:.3f}" if area == area else "-"))
    said = (
        f"Identity `{found['judge']}` (name / features / hash of weights / calibration), measured"
        f" {found['date']} at load {found['load_average']} on 2 shared cores. RAGTruth-QA dev: F1"
        f" interval {between(rag['f1_interval'])}, BAcc interval"
        f" {between(rag['balanced_accuracy_interval'])}; ECE as shipped, without calibration of its"
        f" own, {rag['ece_as_shipped']:.3f}. Answer length alone reaches AUROC"
        f" {rag['auroc_length_alone']:.3f}; with length regressed out the judge has"
        f" {rag['auroc_without_length']:.3f}.\n\nUHGEval (zh): {words['keywords']} keywords,"
        f" {words['unreasonable']} unreasonable, AUROC {words['auroc']:.3f}"
        f" {between(words['auroc_interval'])}, ECE {words['ece']:.3f}; learnt from (not verbatim in"
        " the news: .740)."
    )
    if found["judge"].startswith("embedded-lexical/"):
        return {"support by words": "\n".join(table), "everyday by words": everyday(found)}
    return {
        "everyday": everyday(found),
        "support": "\n".join(table),
        "generators": "\n".join(generators),
        "support in words": said,
    }


def everyday(found: dict[str, Any]) -> str:
    """The table of answers written for the project."""
    table = head(
        "answers", "rows", "AUROC `answer_supported`", "AUROC `faithfulness`", "right ones flagged",
        "wrong ones flagged", "ECE, Brier / base rate",
    )  # fmt: skip
    for name, s in found["everyday"].items():
        right = 1 - (2 * s["balanced_accuracy"] - s["recall"])
        table.append(
            row(
                EVERYDAY_TITLES[name],
                s["judged"],
                f"{s['auroc']:.3f} {between(s['auroc_interval'])}",
                f"{s['auroc_faithfulness']:.3f}",
                f"{right:.0%}",
                f"{s['recall']:.0%}",
                f"{s['ece']:.3f}, {s['brier']:.4f} / {s['brier_of_base_rate']:.4f}",
            )
        )
    return "\n".join(table)


def details(found: dict[str, Any]) -> dict[str, str]:
    """The table of one run of `details`; the variant names the place."""
    table = head(
        "premises", "statements", "AUROC against additions", "against one wrong detail",
        "flagged: supported / added / contrary",
    )  # fmt: skip
    for name, s in found["details"].items():
        areas = (s["against_added"], s["against_contrary"])
        shares = s["flagged"]
        table.append(
            row(
                name,
                s["statements"],
                *(f"{area['auroc']:.3f} {between(area['interval'])}" for area in areas),
                " / ".join(f"{shares[name]:.0%}" for name in ("supported", "added", "contrary")),
            )
        )
    lexical = found["judge"].startswith("embedded-lexical/")
    return {"details by words" if lexical else "details": "\n".join(table)}


def relevance(found: dict[str, Any]) -> dict[str, str]:
    """The table of context relevance."""
    table = head("data", "passages", "AUROC", "MAP", "accuracy")
    for name, s in found["context_relevance"].items():
        ranked = "-" if s["map"] is None else f"{s['map']:.3f}"
        table.append(row(name, s["passages"], f"{s['auroc']:.3f}", ranked, f"{s['accuracy']:.3f}"))
    return {"relevance": "\n".join(table)}


def injection(found: dict[str, Any]) -> dict[str, str]:
    """The table of one run of `injection`; its number of bases names the place."""
    table = head("group", "pairs", "faithfulness", "`answer_supported`", "single shifts > 0.1")
    for name, s in found["shift"].items():
        if not name.startswith("family"):
            table.append(
                row(
                    name,
                    s["pairs"],
                    f"{s['faithfulness']:+.3f}",
                    f"{s['answer_supported']:+.3f}",
                    f"{s['faithfulness_above_0.1']:.0%} / {s['answer_supported_above_0.1']:.0%}",
                )
            )
    marked = ", ".join(f"{k} {v:.0%}" for k, v in found["suspect_share"].items())
    return {
        f"injection, {found['bases']} bases": "\n".join(table) + f"\n\nMarked suspect: {marked}."
    }


def encoder(found: dict[str, Any]) -> dict[str, str]:
    """The table of one run of `encoder`; the version names the place."""
    weights = [name.removeprefix("with_") for name in found["auroc"]["wice"] if "with_" in name]
    table = head("data", "rows", "lexical", "encoder alone", *(f"w = {w} (gain)" for w in weights))
    for name, s in found["auroc"].items():
        mixed = [f"{s[f'with_{w}']:.3f} {between(s[f'gain_{w}'])}" for w in weights]
        table.append(
            row(name, s["rows"], f"{s['lexical']:.3f}", f"{s['encoder_alone']:.3f}", *mixed)
        )
    fast = found["speed"]
    said = "; ".join(
        f"{name.replace('threads_', '')} thread(s): p50 {s['p50_ms']} ms, p99 {s['p99_ms']} ms by"
        f" the clock, {s['cpu_p50_ms']} ms of processor time,"
        f" {s['batched_traces_per_cpu_second']} traces a processor second in batches"
        for name, s in fast.items()
        if name not in {"load_average", "window"}
    )
    version = found["encoder"]
    return {
        f"encoder {version}": "\n".join(table)
        + f"\n\nOne trace's window of {fast['window']} tokens, at load {fast['load_average']}:"
        f" {said}."
    }


def encoder_relevance(found: dict[str, Any]) -> dict[str, str]:
    """The table of `encoder_relevance`."""
    sets = {name: s for name, s in found.items() if isinstance(s, dict)}
    first = next(iter(sets.values()))
    weights = [name.removeprefix("with_") for name in first if "with_" in name]
    table = head(
        "data", "questions", "passages", "lexical", "encoder alone",
        *(f"w = {w} (gain)" for w in weights), "processor time a passage",
    )  # fmt: skip
    for name, s in sets.items():
        mixed = [f"{s[f'with_{w}']:.3f} {between(s[f'gain_{w}'])}" for w in weights]
        alone = (f"{s['lexical']:.3f}", f"{s['encoder_alone']:.3f}")
        table.append(
            row(name, s["questions"], s["passages"], *alone, *mixed, f"{s['cpu_ms_a_passage']} ms")
        )
    said = f"\n\nEncoder {found['encoder_of_relevance']}, load {found['load_average']}."
    return {"encoder relevance": "\n".join(table) + said}


def sections(found: dict[str, Any]) -> dict[str, str]:
    """Name of a place to the text that belongs there."""
    made: dict[str, str] = {}
    if "answer_supported" in found:
        made |= support(found)
    if "context_relevance" in found:
        made |= relevance(found)
    if "details" in found:
        made |= details(found)
    if "shift" in found:
        made |= injection(found)
    if "encoder_of_relevance" in found:
        made |= encoder_relevance(found)
    if "encoder" in found:
        made |= encoder(found)
    return made


def main(files: list[Path]) -> None:
    """Replace every table whose figures are given."""
    text = CARD.read_text(encoding="utf-8")
    for file in files:
        made = sections(json.loads(file.read_text(encoding="utf-8")))
        if not made:
            raise SystemExit(f"{file} holds no figures this card shows")
        for name, table in made.items():
            start, end = f"<!-- figures: {name} -->\n", "<!-- end -->"
            if start not in text:
                raise SystemExit(f"{CARD.name} has no place for {name!r}")
            before, rest = text.split(start, 1)
            text = before + start + table + "\n" + end + rest.split(end, 1)[1]
            print(f"wrote {name}")
    CARD.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main([Path(name) for name in sys.argv[1:]])
