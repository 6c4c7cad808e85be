"""Every error rag-monitor raises on purpose, in one tree.

    RagMonitorError
      ConfigurationError
      IngestError
        MalformedPayload       the sender must change the payload (400)
        PayloadTooLarge        the sender must split it (413)
        UnsupportedMediaType   the sender must change the content type (415)
        QueueFull              the sender may retry (503)
      StoreError
        StoreUnavailable       passing; retry (503)
          StoreFull            its disk is full; make room, then retry (503)
          NotIngesting         another process takes traces in (503)
        SchemaMismatch         run `rag-monitor migrate`, or upgrade
        NotFound               no such row in this project (404)
        LeaseLost              somebody else owns the work now; drop it
      JudgeError
        JudgeUnavailable       not reachable or overloaded; retry
          JudgeRefused         turns everybody away until a person fixes something
            QuotaExhausted     credit or quota is used up; stop asking
            OtherModelServed   another model answers than the configured one
            EverythingRefused  it did so again and again; stop asking
        JudgeTimeout           retry
        JudgeOutputInvalid     answered in the wrong shape; do not retry
        UnknownJudge           no judge of that name
        BudgetExhausted        asked for more than the budget allows; shed and counted
      MetricError
        UnknownMetric
        NotApplicable
      RuleError                an alert rule that cannot work, with the reason
      NotificationError        a channel refused or did not answer
      OutboundRefused          a configured URL points where we do not go

Branches follow what the caller does next: retry, reject or stop.

Each is raised with an English sentence and its parameters by name:

    raise ConfigurationError("there is no file {path}", path=path)

`str(error)` is English; `translate(error, "zh")` of `rag_monitor.i18n` says it in Chinese.
"""

from __future__ import annotations


class RagMonitorError(Exception):
    """Something in rag-monitor failed."""

    def __init__(self, text: str | None = None, /, **params: object) -> None:
        """An error that can be told in every language with a catalogue.

        Args:
            text: English; with parameters it is a literal that has them in braces, as
                `str.format` takes them. None: the first line of the class's docstring.
            params: Texts, numbers, and errors and messages within this one.
        """
        # An application that uses the SDK loads this module, and few ever raise.
        from rag_monitor.i18n import Message

        if text is None:
            text = (type(self).__doc__ or type(self).__name__).partition("\n")[0]
        whole = isinstance(text, Message) and not params
        super().__init__(text if whole else Message(text, **params))


class ConfigurationError(RagMonitorError):
    """A setting is wrong; the message names it and says how to mend it."""


class IngestError(RagMonitorError):
    """A payload could not be taken in."""


class MalformedPayload(IngestError):  # noqa: N818 - named after the field's word
    """The payload cannot be parsed; resending it unchanged will fail again."""

    field: str = ""
    """The field at fault, where one is; in lists as `contexts[0].id`."""


class PayloadTooLarge(IngestError):  # noqa: N818
    """The payload is larger than the limit; send it in smaller parts."""


class UnsupportedMediaType(IngestError):  # noqa: N818
    """The content type is not one this endpoint reads."""


class QueueFull(IngestError):  # noqa: N818
    """More is in flight than the server admits; try again in a few seconds."""


class StoreError(RagMonitorError):
    """The database refused or failed."""


class StoreUnavailable(StoreError):  # noqa: N818
    """The database does not answer right now; try again."""


class StoreFull(StoreUnavailable):
    """The disk of the database is full; make room, then try again."""


class StoreDamaged(StoreError):  # noqa: N818
    """Pages of the SQLite file are damaged; `rag-monitor recover` saves what is readable."""


class NotIngesting(StoreUnavailable):
    """This process takes no traces in; send them to one with the role `all` or `ingest`."""


class SchemaMismatch(StoreError):  # noqa: N818
    """The database schema is not the one this release expects; run `rag-monitor migrate`."""


class NotFound(StoreError):  # noqa: N818
    """No such row in this project."""


class LeaseLost(StoreError):  # noqa: N818
    """The lease on this work was taken over; the result must not be saved."""


class JudgeError(RagMonitorError):
    """A judge gave no usable judgement."""

    reason = "judge_error"
    """Stable, low-cardinality word stored as the score's failure reason."""


class JudgeUnavailable(JudgeError):  # noqa: N818
    """The judge cannot be reached or is overloaded."""

    reason = "judge_unavailable"


class JudgeRefused(JudgeUnavailable):
    """The judge's server refuses us until somebody fixes something: key, model, address, credit."""

    reason = "judge_refused"


class QuotaExhausted(JudgeRefused):
    """The account's credit or quota at the judge's server is used up."""

    reason = "judge_quota"


class OtherModelServed(JudgeRefused):
    """The judge's server answers with another model than the configured one."""

    reason = "other_model_served"


REFUSALS: tuple[type[JudgeRefused], ...] = (JudgeRefused, QuotaExhausted, OtherModelServed)
"""Refusals by their reasons: each lasts until a person fixes something."""


class EverythingRefused(JudgeRefused):
    """The judge's server refuses whatever it is asked; asking on would only take time."""


class JudgeTimeout(JudgeError):  # noqa: N818
    """The judge did not answer within its deadline."""

    reason = "judge_timeout"


class JudgeBehind(JudgeError):  # noqa: N818
    """The judge did not get to a trace that was drawn for it in the time it may wait."""

    reason = "judge_behind"


class JudgeOutputInvalid(JudgeError):  # noqa: N818
    """The judge answered in the wrong shape."""

    reason = "judge_output_invalid"


class UnknownJudge(JudgeError):  # noqa: N818
    """There is no judge of that name; `rag-monitor doctor` lists them."""

    reason = "unknown_judge"


class BudgetExhausted(JudgeError):  # noqa: N818
    """The judging budget of this window is spent."""

    reason = "budget_exhausted"


class MetricError(RagMonitorError):
    """A metric could not be computed."""


class UnknownMetric(MetricError):  # noqa: N818
    """There is no metric of that name."""


class NotApplicable(MetricError):  # noqa: N818
    """The metric has no meaning for this input; the message is the reason."""


class RuleError(RagMonitorError):
    """The alert rule cannot work as written."""


class NotificationError(RagMonitorError):
    """The channel did not accept the notification."""


class OutboundRefused(RagMonitorError):  # noqa: N818
    """The address is not one this server connects to."""
