"""Loads a detector and makes a judge of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from rag_monitor.domain.ports import BudgetLedger
from rag_monitor.errors import ConfigurationError
from rag_monitor.installation import install_command
from rag_monitor.judges.detectors import places
from rag_monitor.judges.detectors.facts import Facts, read_facts, recognise
from rag_monitor.judges.detectors.formats import Format, Reads, format_of
from rag_monitor.judges.detectors.judge import DetectorJudge
from rag_monitor.judges.detectors.onnx_runner import OnnxRunner
from rag_monitor.judges.detectors.options import HHEM, DetectorOptions
from rag_monitor.judges.detectors.runner import Runner
from rag_monitor.judges.detectors.texts import Texts


def load_judge(options: DetectorOptions, *, ledger: BudgetLedger | None = None) -> DetectorJudge:
    """The judge of the model that the settings name.

    Raises:
        ConfigurationError: The model cannot be found, recognised or loaded.
    """
    runtime = places.runtime_of(options)
    folder = places.folder_of(options, runtime)
    facts = read_facts(folder)
    name = options.format if options.format != "auto" else recognise(options.model, facts)
    form = format_of(name, facts, options)
    foundation = facts.foundation if name == HHEM else ""
    if runtime == places.ONNX:
        runner: Runner = OnnxRunner(places.onnx_file(options, folder), form, options)
        texts = read_texts(places.tokenizer_folder(options, folder, foundation), form)
    else:
        form, texts, runner = _through_transformers(options, folder, facts, form, foundation)
    return DetectorJudge(options, form, texts, runner, ledger=ledger)


def read_texts(folder: Path, form: Format) -> Texts:
    """The tokenizer in a folder.

    Raises:
        ConfigurationError: tokenizers is missing, or its file cannot be read.
    """
    file = folder / "tokenizer.json"
    try:
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_buffer(file.read_bytes())
    except ImportError as error:
        raise ConfigurationError(
            "a detector needs {reason}: {command}",
            reason=error.name or error,
            command=install_command("server"),
        ) from None
    except Exception as error:  # noqa: BLE001 - the library's errors have no base of their own
        raise ConfigurationError(
            "the tokenizer {file} cannot be read: {reason}", file=file, reason=error
        ) from None
    return Texts(tokenizer, special_tokens=form.special_tokens)


def _through_transformers(
    options: DetectorOptions, folder: Path, facts: Facts, form: Format, foundation: str
) -> tuple[Format, Texts, Runner]:
    try:
        from rag_monitor.judges.detectors import transformers_runner as runs
    except ImportError as error:
        raise ConfigurationError(
            "a detector through transformers needs {reason}: {command}; a folder with model.onnx "
            "needs no more than is there",
            reason=error.name or error,
            command=install_command("gpu"),
        ) from None
    if form.reads is Reads.WORDS:
        from rag_monitor.judges.detectors.guardian import guardian_layout

        tokenizer = runs.load_tokenizer(options.tokenizer or str(folder))
        form = replace(form, lay_out=guardian_layout(tokenizer))
        texts = Texts(tokenizer.backend_tokenizer, special_tokens=form.special_tokens)
        return form, texts, runs.WordRunner(folder, tokenizer, options)
    texts = read_texts(places.tokenizer_folder(options, folder, foundation), form)
    return form, texts, runs.TransformersRunner(folder, facts, form, options)
