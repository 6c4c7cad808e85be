"""What `rag-monitor doctor` says of the names that applications send."""

from __future__ import annotations

from collections.abc import Sequence

from rag_monitor.cli.words import say
from rag_monitor.domain.names import NameKind
from rag_monitor.domain.stored import NameCount
from rag_monitor.errors import ConfigurationError
from rag_monitor.ingest.rewriting import pod_names


def names_in_order(counts: Sequence[NameCount]) -> str:
    """How many there are, and whether an application is named after its pods.

    Raises:
        ConfigurationError: A project has no room for further names, with what to do about it.
    """
    mark = say("; ")
    hints = [hint for one in counts if one.kind is NameKind.APP and (hint := _pods(one))]
    full = [
        say(
            "project {project} has {count} names of kind {kind}, as many as it may: further ones "
            "are counted as (other); send fewer, or raise `{kind}` in [names]",
            project=one.project,
            count=len(one.names),
            kind=one.kind.value,
        )
        for one in counts
        if one.full
    ]
    if full:
        raise ConfigurationError(mark.join([*full, *hints]))
    apps = sum(len(one.names) for one in counts if one.kind is NameKind.APP)
    return mark.join([say("room for more; {count} apps", count=apps), *hints])


def _pods(counted: NameCount) -> str | None:
    found = pod_names(counted.names)
    if found is None:
        return None
    example, pattern = found
    return say(
        "`service.name` looks like a pod name ({example}): set `app=`, or a rewrite rule: "
        "[apps] rewrite = [['{pattern}', '']]",
        example=example,
        pattern=pattern,
    )
