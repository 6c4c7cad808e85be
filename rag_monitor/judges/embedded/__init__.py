"""The embedded judge: every trace, on CPU, in this process, with nothing to download."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from pydantic import TypeAdapter, ValidationError

from rag_monitor.errors import ConfigurationError
from rag_monitor.judges.embedded.judge import EmbeddedJudge, EmbeddedOptions

__all__ = ["EmbeddedJudge", "EmbeddedOptions", "create"]


def create(options: Mapping[str, Any]) -> EmbeddedJudge:
    """A judge from the table `[judges.embedded]`.

    Raises:
        ConfigurationError: A setting is unknown or has the wrong type.
    """
    known = [field.name for field in fields(EmbeddedOptions)]
    for name in options:
        if name not in known:
            raise ConfigurationError(
                f"[judges.embedded] has no setting {name!r}; known: {', '.join(known)}"
            )
    try:
        return EmbeddedJudge(TypeAdapter(EmbeddedOptions).validate_python(dict(options)))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise ConfigurationError(f"[judges.embedded] {first['loc']}: {first['msg']}") from None
