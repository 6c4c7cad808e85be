"""The `rag-monitor` command: one file per command or group of them, each parses and then calls."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rag_monitor.errors import (
    ConfigurationError,
    EverythingRefused,
    RagMonitorError,
    UnknownJudge,
    UnknownMetric,
)
from rag_monitor.installation import install_command

__all__ = ["main"]

FAILED = 1
"""Exit code: it was asked for correctly and did not work out."""
MISUSED = 2
"""Exit code: the command line or the configuration has to change."""
REFUSED = 3
"""Exit code: the judge's server refuses everything; key, model name, address or credit."""
_INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> None:
    """Run a command and exit. Expected failures are one sentence on stderr, never a traceback."""
    try:
        from rag_monitor.cli import usage
        from rag_monitor.cli.application import app
    except ModuleNotFoundError as error:
        if not error.name or error.name.partition(".")[0] == "rag_monitor":
            raise
        _exit(
            f"the rag-monitor command needs {error.name}; install it with"
            f" `{install_command('server')}`",
            MISUSED,
        )
    words = sys.argv[1:] if argv is None else list(argv)
    try:
        sys.exit(usage.run(app, words))
    except (ConfigurationError, UnknownJudge, UnknownMetric) as error:
        _fail(error, MISUSED)
    except EverythingRefused as error:
        _fail(error, REFUSED)
    except RagMonitorError as error:
        _fail(error, FAILED)
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output is gone: there is nobody to tell
        sys.exit(FAILED)
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
    except OSError as error:
        _exit(f"{error.filename or 'the system'}: {error.strerror or error}", FAILED)
    except Exception as error:  # noqa: BLE001 - the last line before the user
        _exit(
            f"unexpected {type(error).__name__}: {error}; this is a mistake of ours, please report"
            " it with the command line",
            FAILED,
        )


def _fail(error: Exception, code: int) -> None:
    from rag_monitor.cli.words import chosen
    from rag_monitor.i18n import translate

    _exit(translate(error, chosen()), code)


def _exit(message: str, code: int) -> None:
    print(f"rag-monitor: {message}", file=sys.stderr)  # noqa: T201 - a command talks here
    sys.exit(code)
