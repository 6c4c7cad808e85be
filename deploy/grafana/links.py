"""Links from a panel to the page of the monitor that shows the same."""

from __future__ import annotations

from typing import Final

TRACES: Final = {
    "title": "Traces of ${__field.labels.app}",
    "url": "${monitor}/traces?app=${__field.labels.app}",
    "targetBlank": True,
}
WORST: Final = {
    "title": "Worst traces of ${__field.labels.app}",
    "url": "${monitor}/traces?app=${__field.labels.app}"
    "&metric=${__field.labels.metric}&below=0.5&release=${__field.labels.release}",
    "targetBlank": True,
}
WORST_OF_APP: Final = {
    **WORST,
    "url": "${monitor}/traces?app=${__field.labels.app}&metric=${__field.labels.metric}&below=0.5",
}
SESSIONS: Final = {
    "title": "Sessions of ${__field.labels.app}",
    "url": "${monitor}/sessions?app=${__field.labels.app}",
    "targetBlank": True,
}
ALERTS: Final = {"title": "Alerts", "url": "${monitor}/alerts", "targetBlank": True}
