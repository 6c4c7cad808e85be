"""What to do next: a table by the stage whose fault grew and where it is concentrated.

Read from the top: the row of the stage and the dimension, else that of the stage, else that of the
dimension, else the last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import urlencode

from rag_monitor.domain.fault import Stage
from rag_monitor.domain.incident import Concentration, Incident, NextStep
from rag_monitor.i18n import msgid

_STEPS: Final[Mapping[tuple[Stage | None, str | None], str]] = {
    (Stage.KNOWLEDGE, "knowledge_base"): msgid(
        "add to knowledge base {value} what the example questions ask for, and replace what is "
        "outdated in it"
    ),
    (Stage.KNOWLEDGE, "topic"): msgid(
        "add to a knowledge base what questions about {value} ask for, and replace what is outdated"
    ),
    (Stage.KNOWLEDGE, None): msgid(
        "add what the example questions ask for to a knowledge base, and replace what is outdated"
    ),
    (Stage.RETRIEVAL, "release"): msgid(
        "compare release {value} with the one before: look for what changed in retrieval and "
        "ranking"
    ),
    (Stage.RETRIEVAL, "knowledge_base"): msgid(
        "look at the index of knowledge base {value}: what was added, removed or embedded anew"
    ),
    (Stage.RETRIEVAL, None): msgid(
        "look at what the retriever returned for the examples, and at its index and its ranking"
    ),
    (Stage.GENERATION, "release"): msgid(
        "compare release {value} with the one before: look for what changed in prompt and model"
    ),
    (Stage.GENERATION, "model"): msgid(
        "hold answers of model {value} against those of the other models"
    ),
    (Stage.GENERATION, "knowledge_base"): msgid(
        "look at the passages that knowledge base {value} gives the model"
    ),
    (Stage.GENERATION, None): msgid(
        "look at prompt and model: the examples show what the passages do not support"
    ),
    (Stage.ROUTING, None): msgid(
        "look at which plugin, knowledge base or workflow the examples called, and at the router"
    ),
    (Stage.SYSTEM, None): msgid("look at the errors of the examples and at what failed behind"),
    (None, "release"): msgid("compare release {value} with the one before"),
    (None, "knowledge_base"): msgid("look at knowledge base {value}"),
    (None, "model"): msgid("hold answers of model {value} against those of the other models"),
    (None, "topic"): msgid("look at the questions about {value}"),
    (None, None): msgid("follow the runbook of the first alert"),
}
_BY_NAME: Final = {
    ".".join(part or "any" for part in (stage and stage.value, dimension)): text
    for (stage, dimension), text in _STEPS.items()
}


def choose(
    stage: Stage | None, concentrations: Sequence[Concentration], before: str | None
) -> NextStep:
    """The next step.

    Args:
        stage: Whose fault grew; None: none did beyond chance.
        concentrations: Where the trouble is; the first that the table knows decides.
        before: The release that most traffic had before; None: there was none.
    """
    for wanted in dict.fromkeys((stage, None)):
        for place in concentrations:
            if (wanted, place.dimension) in _STEPS:
                against = before if place.dimension == "release" else None
                return NextStep(
                    key=_key(wanted, place.dimension),
                    dimension=place.dimension,
                    value=place.value,
                    against=None if against == place.value else against,
                )
        if wanted is not None and (wanted, None) in _STEPS:
            return NextStep(key=_key(wanted, None))
    return NextStep(key=_key(None, None))


def text_of(step: NextStep) -> str:
    """Its sentence, to be translated; `{value}` is the value."""
    return _BY_NAME.get(step.key, _STEPS[None, None])


def path_of(incident: Incident) -> str | None:
    """The page that the step begins on, without the address of the server; None: the runbook."""
    story = incident.story
    if story is None:
        return None
    step, app = story.step, incident.app
    if step.dimension == "release" and step.against is not None:
        return f"/compare?{urlencode({'app': app, 'a': step.against, 'b': step.value or ''})}"
    if step.dimension == "knowledge_base":
        where = {"app": app, "knowledge_base": step.value or ""}
        if step.key == _key(Stage.KNOWLEDGE, "knowledge_base"):
            where["list"] = "stale"
        return f"/documents?{urlencode(where)}"
    if step.dimension == "topic":
        return f"/topics?{urlencode({'app': app})}"
    if step.key == _key(None, None):
        return None
    query = {"app": app, "from": f"{story.since:%Y-%m-%dT%H:%M}Z", "against": "before"}
    return f"/compare?{urlencode(query)}"


def _key(stage: Stage | None, dimension: str | None) -> str:
    return ".".join(part or "any" for part in (stage and stage.value, dimension))
