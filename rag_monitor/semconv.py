"""Attribute, span and event names on the wire. Constants only.

Names come from OpenTelemetry GenAI (generations A to C), OpenInference and Langfuse; those of other
products stand in their files of `ingest/conventions`. `rag_monitor.*` holds only what none of them
has a word for.
"""

from __future__ import annotations

from typing import Final

# --- ours -----------------------------------------------------------------------------------
COMPLETE: Final = "rag_monitor.complete"
"""bool on a root span: the span describes its whole trace, nothing else has to arrive."""
RECORD: Final = "rag_monitor.record"
"""str on a root span: the trace as one Trace JSON object (DESIGN, "Trace JSON", with `retrievals`,
`status`, `error`, `usage`, `environment`, `streamed` besides)."""
APP_ROOT: Final = "rag_monitor.app_root"
"""bool: this span is the request, whatever parent it has elsewhere."""
RELEASE: Final = "rag_monitor.release"
DROPPED: Final = "rag_monitor.dropped"
"""resource str: JSON object {reason: count} of what the SDK dropped since its last export."""

EVALUATION_SCOPE: Final = "rag-monitor.evaluation"
"""Scope of the spans that carry our scores to other tools; ingest leaves them out."""

EVENTS_SCOPE: Final = "rag-monitor"
"""The same of the log events that carry them."""

SELF_SCOPE: Final = "rag-monitor.own"
"""Scope of the spans about a monitor's own work: kept apart, and never judged."""

# --- OpenTelemetry resource -------------------------------------------------------------------
SERVICE_NAME: Final = "service.name"
SERVICE_VERSION: Final = "service.version"
DEPLOYMENT_ENVIRONMENT: Final = "deployment.environment.name"
DEPLOYMENT_ENVIRONMENT_OLD: Final = "deployment.environment"

# --- OpenTelemetry general --------------------------------------------------------------------
ERROR_TYPE: Final = "error.type"
EXCEPTION_EVENT: Final = "exception"
EXCEPTION_TYPE: Final = "exception.type"
EXCEPTION_MESSAGE: Final = "exception.message"
SESSION_ID: Final = "session.id"
USER_ID: Final = "user.id"
END_USER_ID: Final = "enduser.id"

# --- OpenTelemetry GenAI ----------------------------------------------------------------------
GEN_AI_SPAN_KIND: Final = "gen_ai.span.kind"
"""Of LoongSuite."""
GEN_AI_OPERATION: Final = "gen_ai.operation.name"
GEN_AI_CONVERSATION_ID: Final = "gen_ai.conversation.id"
GEN_AI_WORKFLOW_NAME: Final = "gen_ai.workflow.name"
GEN_AI_DATA_SOURCE_ID: Final = "gen_ai.data_source.id"
GEN_AI_QUERY_TEXT: Final = "gen_ai.retrieval.query.text"
GEN_AI_DOCUMENTS: Final = "gen_ai.retrieval.documents"
GEN_AI_REQUEST_MODEL: Final = "gen_ai.request.model"
GEN_AI_REQUEST_STREAM: Final = "gen_ai.request.stream"
GEN_AI_RESPONSE_MODEL: Final = "gen_ai.response.model"
GEN_AI_RESPONSE_ID: Final = "gen_ai.response.id"
GEN_AI_TIME_TO_FIRST_CHUNK: Final = "gen_ai.response.time_to_first_chunk"
GEN_AI_CLIENT_WAIT: Final = "gen_ai.client.operation.time_to_first_chunk"
"""Seconds; a metric's name, which the Vercel AI SDK 7 also writes on spans of streamed calls."""
GEN_AI_SERVER_WAIT: Final = "gen_ai.server.time_to_first_token"
"""Seconds; a metric's name, which Dify also writes on spans."""
GEN_AI_RESPONSE_WAIT: Final = "gen_ai.response.time_to_first_token"
"""Nanoseconds, of Dify and LoongSuite."""
GEN_AI_INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
GEN_AI_OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
GEN_AI_PROMPT_TOKENS_OLD: Final = "gen_ai.usage.prompt_tokens"
GEN_AI_COMPLETION_TOKENS_OLD: Final = "gen_ai.usage.completion_tokens"
GEN_AI_INPUT_MESSAGES: Final = "gen_ai.input.messages"
GEN_AI_OUTPUT_MESSAGES: Final = "gen_ai.output.messages"
GEN_AI_SYSTEM_INSTRUCTIONS: Final = "gen_ai.system_instructions"
GEN_AI_PROMPT_VARIABLE_PREFIX: Final = "gen_ai.prompt.variable."
GEN_AI_AGENT_NAME: Final = "gen_ai.agent.name"
STEP_NAMES: Final = (
    "gen_ai.agent.name", "gen_ai.workflow.name", "gen_ai.prompt.name", "traceloop.entity.name",
    "agent.name", "graph.node.id", "ai.telemetry.functionId",
)  # fmt: skip
"""What people call a step, beside the name of the span."""
GEN_AI_TOOL_NAME: Final = "gen_ai.tool.name"
GEN_AI_TOOL_ARGUMENTS: Final = "gen_ai.tool.call.arguments"
GEN_AI_TOOL_RESULT: Final = "gen_ai.tool.call.result"

GEN_AI_EVALUATION_EVENT: Final = "gen_ai.evaluation.result"
GEN_AI_EVALUATION_NAME: Final = "gen_ai.evaluation.name"
GEN_AI_EVALUATION_VALUE: Final = "gen_ai.evaluation.score.value"
GEN_AI_EVALUATION_LABEL: Final = "gen_ai.evaluation.score.label"
GEN_AI_EVALUATION_EXPLANATION: Final = "gen_ai.evaluation.explanation"

# --- OpenInference ----------------------------------------------------------------------------
OI_SPAN_KIND: Final = "openinference.span.kind"
OI_TRACE_ANNOTATIONS_PREFIX: Final = "trace.annotations."
OI_PROJECT: Final = "openinference.project.name"
OI_INPUT: Final = "input.value"
OI_INPUT_MIME: Final = "input.mime_type"
OI_OUTPUT: Final = "output.value"
OI_OUTPUT_MIME: Final = "output.mime_type"
OI_FIRST_TOKEN_EVENT: Final = "First Token Stream Event"  # noqa: S105 - an event name
OI_DOCUMENTS: Final = "retrieval.documents"
OI_RERANKED: Final = "reranker.output_documents"
OI_RERANKER_INPUT: Final = "reranker.input_documents"
OI_RERANKER_QUERY: Final = "reranker.query"
OI_TOOL_NAME: Final = "tool.name"
OI_MODEL: Final = "llm.model_name"
OI_TAGS: Final = "tag.tags"
OI_METADATA: Final = "metadata"

TEXT_PLAIN: Final = "text/plain"
WITHHELD: Final = frozenset({"__REDACTED__", "<generator object>"})
"""Literals other instrumentations write where content was withheld: missing, not text."""

# --- more OpenInference -----------------------------------------------------------------------
OI_PROMPT_TOKENS: Final = "llm.token_count.prompt"
OI_COMPLETION_TOKENS: Final = "llm.token_count.completion"
OI_REQUEST_MODEL: Final = "llm.request.model_name"
OI_RESPONSE_MODEL: Final = "llm.response.model_name"
OI_INPUT_MESSAGES: Final = "llm.input_messages"
OI_OUTPUT_MESSAGES: Final = "llm.output_messages"
OI_DOCUMENT: Final = "retrieval.document"
"""JSON of a list, of Dify."""
OI_CREW_TASKS: Final = "crew_tasks"
"""JSON: the tasks of a crew of CrewAI, with a `description` each."""

# --- more OpenTelemetry GenAI -----------------------------------------------------------------
GEN_AI_LEGACY_PROMPT_PREFIX: Final = "gen_ai.prompt."
GEN_AI_LEGACY_COMPLETION_PREFIX: Final = "gen_ai.completion."
GEN_AI_LEGACY_PROMPT_EVENT: Final = "gen_ai.content.prompt"
GEN_AI_LEGACY_COMPLETION_EVENT: Final = "gen_ai.content.completion"
GEN_AI_LEGACY_PROMPT: Final = "gen_ai.prompt"
GEN_AI_LEGACY_COMPLETION: Final = "gen_ai.completion"
GEN_AI_CHUNK_EVENTS: Final = frozenset(
    {"gen_ai.content.completion.chunk", "llm.content.completion.chunk"}
)
GEN_AI_SYSTEM_EVENT: Final = "gen_ai.system.message"
GEN_AI_USER_EVENT: Final = "gen_ai.user.message"
GEN_AI_ASSISTANT_EVENT: Final = "gen_ai.assistant.message"
GEN_AI_TOOL_EVENT: Final = "gen_ai.tool.message"
GEN_AI_DETAILS_EVENT: Final = "gen_ai.client.inference.operation.details"
"""Has the messages of the whole call; also as a log record."""
EVENT_NAME: Final = "event.name"
"""The name of an event that is a log record of an older SDK, or a member of `events`."""
GEN_AI_LISTED_EVENTS: Final = "events"
"""JSON: the message events in a list (Logfire, Pydantic AI)."""
GEN_AI_REQUESTS: Final = (
    "gcp.vertex.agent.llm_request", "request_data", "pydantic_ai.all_messages",
)  # fmt: skip
"""JSON of a whole request (Google ADK, Logfire), or of a conversation (Pydantic AI)."""
GEN_AI_REPLIES: Final = (
    "gcp.vertex.agent.llm_response", "response_data", "final_result", "pydantic_ai.all_messages",
)  # fmt: skip
LOGFIRE_DURATION: Final = "duration"
"""Seconds, on a span without length that stands for a stream that has ended."""
ADK_SESSION: Final = "gcp.vertex.agent.session_id"
ADK_TOOL_ARGUMENTS: Final = "gcp.vertex.agent.tool_call_args"
ADK_TOOL_RESULT: Final = "gcp.vertex.agent.tool_response"
GEN_AI_EVENT_CONTENT: Final = "gen_ai.event.content"
"""JSON of a whole message, where an event has no attributes for its parts (Azure AI)."""
GEN_AI_MESSAGE_CONTENT: Final = "content"
"""Of a message event: its text or its parts."""
GEN_AI_CHOICE_EVENT: Final = "gen_ai.choice"
GEN_AI_CONTENT_EVENTS: Final = frozenset(
    {
        GEN_AI_SYSTEM_EVENT,
        GEN_AI_USER_EVENT,
        GEN_AI_ASSISTANT_EVENT,
        GEN_AI_TOOL_EVENT,
        GEN_AI_CHOICE_EVENT,
        GEN_AI_DETAILS_EVENT,
        GEN_AI_LEGACY_PROMPT_EVENT,
        GEN_AI_LEGACY_COMPLETION_EVENT,
    }
)
"""Events that hold messages."""
STREAM_FLAGS: Final = (GEN_AI_REQUEST_STREAM, "gen_ai.is_streaming", "llm.is_streaming")
"""Of the conventions, OpenLLMetry and LiteLLM."""
GEN_AI_USER: Final = "gen_ai.user"
GEN_AI_TASK_STATUS: Final = "gen_ai.task.status"

# --- Langfuse ---------------------------------------------------------------------------------
LF_TYPE: Final = "langfuse.observation.type"
LF_INPUT: Final = "langfuse.observation.input"
LF_OUTPUT: Final = "langfuse.observation.output"
LF_METADATA_PREFIX: Final = "langfuse.observation.metadata."
LF_LEVEL: Final = "langfuse.observation.level"
LF_STATUS_MESSAGE: Final = "langfuse.observation.status_message"
LF_MODEL: Final = "langfuse.observation.model.name"
LF_USAGE: Final = "langfuse.observation.usage_details"
LF_COMPLETION_START: Final = "langfuse.observation.completion_start_time"
LF_TRACE_INPUT: Final = "langfuse.trace.input"
LF_TRACE_OUTPUT: Final = "langfuse.trace.output"
LF_TRACE_TAGS: Final = "langfuse.trace.tags"
LF_ENVIRONMENT: Final = "langfuse.environment"
LF_RELEASE: Final = "langfuse.release"
LF_USER: Final = "langfuse.user.id"
LF_SESSION: Final = "langfuse.session.id"
LF_APP_ROOT: Final = "langfuse.internal.is_app_root"
