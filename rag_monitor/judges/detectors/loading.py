"""Loads a detector and makes a judge of it.

Granite Guardian is asked whether a text is grounded in the three forms of its generations. 3.0 to
3.2 name a `risk_name` and take the documents as a turn of the role `context`; 3.3 names a
`criteria_id` and takes `documents`; 4.1 and models without either get the criterion in words, in a
`<guardian>` block as the last turn. The model's chat template does the rest (evaluation code of
ibm-granite/granite-guardian). Yes means that the text is not grounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from rag_monitor.domain.ports import BudgetLedger
from rag_monitor.errors import ConfigurationError
from rag_monitor.installation import install_command
from rag_monitor.judges.detectors import places
from rag_monitor.judges.detectors.facts import Facts, read_facts, recognise
from rag_monitor.judges.detectors.formats import Format, Layout, Reads, format_of
from rag_monitor.judges.detectors.judge import DetectorJudge
from rag_monitor.judges.detectors.onnx_runner import OnnxRunner
from rag_monitor.judges.detectors.options import HHEM, DetectorOptions
from rag_monitor.judges.detectors.runner import Runner
from rag_monitor.judges.detectors.texts import Texts

_RISK: Final = "groundedness"
_CRITERION: Final = (
    "A text is considered ungrounded or unfaithful if it includes information lacking support "
    "from, or directly contradicting, the provided document(s). This risk arises when the text "
    "fabricates details, misinterprets the content, or makes unsupported extrapolations beyond "
    "what is explicitly stated in the document(s)."
)
BLOCK: Final = (
    "<guardian><no-think>As a judge agent, assess whether the provided text meets the given "
    "judging criteria using all available information, including conversations, documents, and "
    "tools. Provide your score immediately without explanation. Output empty <think>\\n</think> "
    "tags followed by your score in <score></score> tags.\n\n"
    f"### Criteria: {_CRITERION}\n\n"
    "### Scoring Schema: If the last assistant's text meets the criteria, return 'yes'; otherwise, "
    "return 'no'."
)
_PROBE: Final = ("first passage probe", "second passage probe", "statement probe")


def guardian_layout(tokenizer: Any) -> Layout:
    """The layout of a model by its chat template.

    Args:
        tokenizer: A transformers tokenizer.

    Raises:
        ConfigurationError: There is no chat template, or it leaves out what it is given.
    """
    template = str(tokenizer.chat_template or "")
    if not template:
        raise ConfigurationError("the detector has no chat template; use the published model")

    def lay_out(passages: Sequence[str], statement: str, _question: str) -> tuple[str, None]:
        turns, more = _turns(template, passages, statement)
        text: str = tokenizer.apply_chat_template(
            turns, tokenize=False, add_generation_prompt=True, **more
        )
        return text, None

    shown, _ = lay_out(_PROBE[:2], _PROBE[2], "")
    if not all(probe in shown for probe in _PROBE):
        raise ConfigurationError(
            "the detector's chat template leaves out the passages or the statement; it is none of "
            "Granite Guardian's"
        )
    return lay_out


def _turns(
    template: str, passages: Sequence[str], statement: str
) -> tuple[list[dict[str, str]], dict[str, Any]]:
    """The turns of the conversation, and what else the template takes."""
    answer = {"role": "assistant", "content": statement}
    if "risk_name" in template:
        context = {"role": "context", "content": "\n".join(passages)}
        return [context, answer], {"guardian_config": {"risk_name": _RISK}}
    documents = [{"doc_id": str(n), "text": text} for n, text in enumerate(passages)]
    if "criteria_id" in template:
        config = {"criteria_id": _RISK}
        return [answer], {"guardian_config": config, "documents": documents, "think": False}
    return [answer, {"role": "user", "content": BLOCK}], {"documents": documents}


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
        from rag_monitor.judges.detectors.loading import guardian_layout

        tokenizer = runs.load_tokenizer(options.tokenizer or str(folder))
        form = replace(form, lay_out=guardian_layout(tokenizer))
        texts = Texts(tokenizer.backend_tokenizer, special_tokens=form.special_tokens)
        return form, texts, runs.WordRunner(folder, tokenizer, options)
    texts = read_texts(places.tokenizer_folder(options, folder, foundation), form)
    return form, texts, runs.TransformersRunner(folder, facts, form, options)
