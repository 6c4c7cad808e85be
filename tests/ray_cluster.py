"""A Ray cluster on this machine, on loopback, shared by the tests of one process.

Ray is no part of the test installation: it is larger than everything else in it but torch.
`pip install '.[ray]'`, and these tests run.
"""

from __future__ import annotations

import atexit
import functools
import os
from importlib.util import find_spec
from typing import Any

HAS_RAY = find_spec("ray") is not None
WHY_NOT = "Ray is not installed (200 MB; pip install '.[ray]')"
NODE = {"num_cpus": 2, "node_ip_address": "127.0.0.1", "object_store_memory": 80 * 1024 * 1024}


@functools.cache
def cluster() -> Any:
    """A head without processors for actors, and this process connected to it."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
    import ray
    from ray.cluster_utils import Cluster

    head = {**NODE, "num_cpus": 0, "include_dashboard": False}
    made = Cluster(initialize_head=True, head_node_args=head)
    ray.init(
        address=made.address,
        _node_ip_address="127.0.0.1",
        log_to_driver=False,
        logging_level="WARNING",
    )
    atexit.register(made.shutdown)
    atexit.register(ray.shutdown)
    return made
