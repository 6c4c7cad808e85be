"""How Granite Guardian is asked whether a text is grounded, in the three forms of its generations.

3.0 to 3.2 name a `risk_name` and take the documents as a turn of the role `context`; 3.3 names a
`criteria_id` and takes `documents`; 4.1 and models without either get the criterion in words, in
a `<guardian>` block as the last turn. The model's chat template does the rest (evaluation code of
ibm-granite/granite-guardian). Yes means that the text is not grounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from rag_monitor.errors import ConfigurationError
from rag_monitor.judges.detectors.formats import Layout

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
