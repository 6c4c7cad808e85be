"""What a driver's error means for the caller: try again, give up, or ask an operator."""

from __future__ import annotations

import re
from typing import Final

from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from rag_monitor.errors import StoreDamaged, StoreError, StoreFull, StoreUnavailable
from rag_monitor.i18n import Message

_RETRIED_SQLSTATES: Final = frozenset({"40001", "40P01", "55P03"})
"""Serialisation failure, deadlock, lock not available: the same work may succeed right away."""
_PASSING_CLASSES: Final = ("08", "53", "57", "58")
"""Connection, out of resources, operator intervention, system error."""
_READ_ONLY: Final = "25006"
"""A standby, or `default_transaction_read_only`."""
_REMEDIES: Final = (
    (r'database ".*" does not exist', Message("create it, or correct `database_url`")),
    (
        r'role ".*" does not exist|password authentication failed|no pg_hba\.conf entry'
        r"|no password supplied",
        Message("correct user and password in `database_url`"),
    ),
    (
        r"connection refused|failed to resolve host|timeout expired|no such file or directory",
        Message(
            "try again; if it stays so, see whether the server runs and `database_url` names it"
        ),
    ),
    (
        r"read-?only (transaction|database)",
        Message(
            "name the server that takes changes in `database_url`, or make the database writable"
        ),
    ),
    (r"database is locked|lock timeout", Message("try again; another program keeps it locked")),
)
"""What databases say, and what an operator can do about it."""
_PASSING_SQLITE: Final = ("locked", "busy", "full", "disk i/o", "readonly", "unable to open")


def is_lost_connection(error: BaseException) -> bool:
    """Whether the connection is gone, so that a new one may work."""
    return isinstance(error, DBAPIError) and error.connection_invalidated


def is_retryable(error: BaseException) -> bool:
    """Whether the same transaction may be tried again at once."""
    if not isinstance(error, DBAPIError):
        return False
    return is_lost_connection(error) or _sqlstate(error) in _RETRIED_SQLSTATES


def is_disk_full(error: BaseException) -> bool:
    """Whether the database could not grow."""
    return isinstance(error, DBAPIError) and (
        _sqlstate(error) == "53100" or "disk is full" in str(error.orig)
    )


def is_passing(error: BaseException) -> bool:
    """Whether the database is to blame and not what was sent to it."""
    if isinstance(error, PoolTimeout | InterfaceError) or is_retryable(error):
        return True
    if not isinstance(error, DBAPIError):
        return False
    state = _sqlstate(error)
    if state:
        return state.startswith(_PASSING_CLASSES) or state == _READ_ONLY
    message = str(error.orig).lower()
    return isinstance(error, OperationalError) and (
        "sqlite" not in type(error.orig).__module__
        or any(word in message for word in _PASSING_SQLITE)
    )


def is_damaged(error: BaseException) -> bool:
    """Whether SQLite met a page that is none."""
    return isinstance(error, DBAPIError) and any(
        phrase in str(error.orig) for phrase in ("malformed", "file is not a database")
    )


def reason(error: Exception) -> str:
    """Why a change was refused: `full`, `damaged`, `read_only`, `locked`, `away` or `refused`."""
    message = str(getattr(error, "orig", None) or error).lower()
    if is_disk_full(error):
        return "full"
    if is_damaged(error):
        return "damaged"
    if re.search(r"read-?only", message):
        return "read_only"
    if re.search(r"locked|lock timeout", message):
        return "locked"
    return "away" if is_passing(error) else "refused"


def translate(error: Exception, database: str) -> StoreError:
    """The store's own error for a driver's; `database` names it without credentials."""
    if isinstance(error, StoreError):
        return error
    cause = getattr(error, "orig", None) or error
    detail = str(cause).strip().splitlines()
    text = f"{database}: {detail[0] if detail else type(cause).__name__}"
    if is_disk_full(error):
        return StoreFull(
            "the disk of the database is full ({reason}); make room on it", reason=text
        )
    if is_damaged(error):
        return StoreDamaged(
            "pages of the database are damaged ({reason}); stop the monitor and run "
            "`rag-monitor recover`, or restore a backup",
            reason=text,
        )
    if is_passing(error):
        fitting = (m for pattern, m in _REMEDIES if re.search(pattern, text, re.IGNORECASE))
        remedy = next(fitting, Message("try again"))
        return StoreUnavailable(
            "the database does not take this right now ({reason}); {remedy}",
            reason=text,
            remedy=remedy,
        )
    return StoreError("the database refused ({reason})", reason=text)


def _sqlstate(error: DBAPIError) -> str:
    return getattr(error.orig, "sqlstate", None) or ""
