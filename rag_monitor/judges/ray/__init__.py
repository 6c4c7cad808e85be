"""A judge of this installation, run many times over on a Ray cluster: for large backfills.

The module is named after the setting, `kind = "ray"`; Ray itself is imported only when a judge is
made.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from rag_monitor.domain.ports import BudgetLedger
from rag_monitor.errors import ConfigurationError
from rag_monitor.installation import install_command
from rag_monitor.judges.judge import Judge
from rag_monitor.judges.ray.options import RayOptions

if TYPE_CHECKING:
    from rag_monitor.judges.ray.judge import RayJudge

__all__ = ["NAME", "RayOptions", "create"]

NAME: Final = "ray"


def create(
    make: Callable[[], Judge], options: RayOptions, ledger: BudgetLedger | None = None
) -> RayJudge:
    """Join or start Ray, have its actors load the judge, and wait until one has.

    Args:
        make: Makes the judge in an actor, so it travels by pickle.
        options: The settings.
        ledger: Keeps the budget here, where the database is; None: no budget.

    Raises:
        ConfigurationError: Ray is missing or cannot be reached, or the judge cannot be made.
    """
    # Read when Ray is imported, here and in its processes. Without the second it puts the
    # machine's own address in the place of loopback, and listens to the network.
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    if options.on_loopback:
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
    try:
        from rag_monitor.judges.ray import judge
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            "a judge of kind ray needs Ray: {command}", command=install_command("ray")
        ) from error
    leave = judge.connect(options)
    try:
        return judge.RayJudge(make, options, ledger=ledger, leave=leave)
    except BaseException:
        leave()
        raise
