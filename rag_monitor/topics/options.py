"""What decides which questions are one topic; chosen on one half of the labelled questions.

`benchmarks/topics/measure.py` prints what the values bring on the other half.
"""

from __future__ import annotations

from typing import Final

MAX_TOPICS: Final = 200
"""Per application."""
MAX_WAITING: Final = 2_000
"""Newest questions without a topic that are searched for new ones."""
MIN_QUESTIONS: Final = 5
"""Of a new topic, at least."""
CUT: Final = 0.97
"""Mean distance (1 - cosine) between the questions of two groups up to which they are one."""
ASSIGNED: Final = 0.2
"""Cosine of a question and the centre of a topic from which on it belongs to it."""
SAME: Final = 0.6
"""Cosine of two centres from which on a group is no topic of its own."""
MAX_TERMS: Final = 100
"""Terms that are known of a topic: its most frequent ones."""
MAX_FREQUENCIES: Final = 20_000
"""Terms whose frequency is known."""
MEMORY: Final = 2_000
"""Questions of a topic, and MAX_TOPICS times as many of all, that count in full. Beyond it all
counts are halved, so that a topic follows how people ask."""
DISCOVER_AT: Final = 200
"""Questions without a topic after which they are searched for new ones."""
