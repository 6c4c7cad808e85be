"""Published hallucination detectors as judges.

HHEM, LettuceDetect, MiniCheck, Granite Guardian and NLI cross encoders answer `support` and
`answer_supported` from passages and answer alone, on this machine's CPU or GPU, through
transformers or onnxruntime. Nothing heavy is imported before a judge is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rag_monitor.judges.detectors.options import DetectorOptions
from rag_monitor.judges.tables import read_table

if TYPE_CHECKING:
    from rag_monitor.judges.detectors.judge import DetectorJudge

__all__ = ["DetectorOptions", "create"]


def create(options: Mapping[str, Any], **services: Any) -> DetectorJudge:
    """Load the detector named in `[judges.detector]` and make a judge of it.

    Args:
        options: The settings, see `DetectorOptions`.
        services: `ledger`, as the class takes it.

    Raises:
        ConfigurationError: A setting is wrong, a library is missing, or the model cannot be used.
    """
    settings = read_table("judges.detector", {"model": "", **options}, DetectorOptions)
    from rag_monitor.judges.detectors import loading

    return loading.load_judge(settings, **services)
