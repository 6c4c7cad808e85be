"""Attribute, span and event names on the wire. Constants only.

Names come from OpenTelemetry GenAI (generations A to C), OpenInference, OpenLLMetry, Langfuse, the
Vercel AI SDK, MLflow, coze-loop and Spring AI;
`rag_monitor.*` holds only what none of them has a word for.
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

OWN_SCOPE: Final = "rag-monitor.own"
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
GEN_AI_OPERATION: Final = "gen_ai.operation.name"
GEN_AI_CONVERSATION_ID: Final = "gen_ai.conversation.id"
GEN_AI_WORKFLOW_NAME: Final = "gen_ai.workflow.name"
GEN_AI_DATA_SOURCE_ID: Final = "gen_ai.data_source.id"
GEN_AI_QUERY_TEXT: Final = "gen_ai.retrieval.query.text"
GEN_AI_DOCUMENTS: Final = "gen_ai.retrieval.documents"
GEN_AI_RETRIEVAL_TOP_K: Final = "gen_ai.retrieval.top_k"
GEN_AI_REQUEST_TOP_K: Final = "gen_ai.request.top_k"
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
OI_DOCUMENTS_PREFIX: Final = "retrieval.documents."
OI_RERANKED_PREFIX: Final = "reranker.output_documents."
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
OI_INPUT_MESSAGES_PREFIX: Final = "llm.input_messages."
OI_OUTPUT_MESSAGES_PREFIX: Final = "llm.output_messages."

# --- more OpenTelemetry GenAI -----------------------------------------------------------------
GEN_AI_PROVIDER: Final = "gen_ai.provider.name"
GEN_AI_LEGACY_PROMPT_PREFIX: Final = "gen_ai.prompt."
GEN_AI_LEGACY_COMPLETION_PREFIX: Final = "gen_ai.completion."
GEN_AI_LEGACY_PROMPT_EVENT: Final = "gen_ai.content.prompt"
GEN_AI_LEGACY_COMPLETION_EVENT: Final = "gen_ai.content.completion"
GEN_AI_LEGACY_PROMPT: Final = "gen_ai.prompt"
GEN_AI_LEGACY_COMPLETION: Final = "gen_ai.completion"
GEN_AI_CHUNK_EVENTS: Final = frozenset(
    {"gen_ai.content.completion.chunk", "llm.content.completion.chunk"}
)
GEN_AI_USER_EVENT: Final = "gen_ai.user.message"
GEN_AI_EVENT_CONTENT: Final = "gen_ai.event.content"
"""JSON of a whole message, where an event has no attributes for its parts (Azure AI)."""
GEN_AI_CHOICE_EVENT: Final = "gen_ai.choice"
GEN_AI_IS_STREAMING: Final = "gen_ai.is_streaming"
GEN_AI_USER: Final = "gen_ai.user"
GEN_AI_TASK_STATUS: Final = "gen_ai.task.status"

# --- OpenLLMetry (Traceloop) ------------------------------------------------------------------
TL_PREFIX: Final = "traceloop."
TL_SPAN_KIND: Final = "traceloop.span.kind"
TL_ENTITY_NAME: Final = "traceloop.entity.name"
TL_ENTITY_INPUT: Final = "traceloop.entity.input"
TL_ENTITY_OUTPUT: Final = "traceloop.entity.output"
TL_WORKFLOW_NAME: Final = "traceloop.workflow.name"
TL_ASSOCIATION_PREFIX: Final = "traceloop.association.properties."
DB_SYSTEM: Final = "db.system"
DB_OPERATION: Final = "db.operation"
DB_QUERY_RESULT_EVENT: Final = "db.query.result"
DB_SEARCH_RESULT_EVENT: Final = "db.search.result"

# --- Langfuse ---------------------------------------------------------------------------------
LF_PREFIX: Final = "langfuse."
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

# --- Vercel AI SDK ----------------------------------------------------------------------------
AI_OPERATION: Final = "ai.operationId"
AI_FUNCTION: Final = "ai.telemetry.functionId"
AI_METADATA_PREFIX: Final = "ai.telemetry.metadata."
AI_CONTEXT_PREFIX: Final = "ai.settings.context."
"""What version 7 has in the place of the metadata."""
AI_PROMPT: Final = "ai.prompt"
AI_MESSAGES: Final = "ai.prompt.messages"
AI_TEXTS: Final = ("ai.response.text", "ai.result.text", "ai.response.object", "ai.result.object")
AI_MODELS: Final = ("ai.response.model", "ai.model.id")
AI_INPUT_TOKENS: Final = ("ai.usage.inputTokens", "ai.usage.promptTokens")
AI_OUTPUT_TOKENS: Final = ("ai.usage.outputTokens", "ai.usage.completionTokens")
AI_FIRST_CHUNK_MS: Final = ("ai.response.msToFirstChunk", "ai.stream.msToFirstChunk")
AI_RESPONSE_ID: Final = "ai.response.id"
AI_TOOL_NAME: Final = "ai.toolCall.name"
AI_TOOL_ARGUMENTS: Final = "ai.toolCall.args"
AI_TOOL_RESULT: Final = "ai.toolCall.result"
AI_DOCUMENTS: Final = "ai.documents"
AI_RANKING: Final = "ai.ranking"

# --- MLflow -----------------------------------------------------------------------------------
MLFLOW_TYPE: Final = "mlflow.spanType"
MLFLOW_INPUTS: Final = "mlflow.spanInputs"
MLFLOW_OUTPUTS: Final = "mlflow.spanOutputs"
MLFLOW_MODEL: Final = "mlflow.llm.model"
MLFLOW_USAGE: Final = "mlflow.chat.tokenUsage"
MLFLOW_CHUNK_PREFIX: Final = "mlflow.chunk.item."
MLFLOW_FIRST_CHUNK_EVENT: Final = "mlflow.chunk.item.0"
MLFLOW_TOKEN_EVENT: Final = "new_token"  # noqa: S105 - an event name
"""Of its LangChain autologging, once a token."""

# --- coze-loop --------------------------------------------------------------------------------
COZE_TYPE: Final = "cozeloop.span_type"
COZE_INPUT: Final = "cozeloop.input"
COZE_OUTPUT: Final = "cozeloop.output"
COZE_STREAM: Final = "cozeloop.stream"
COZE_FIRST_TOKEN: Final = "cozeloop.time_to_first_token"  # noqa: S105 - an attribute name
"""Unix microseconds, whatever the name says."""
COZE_STATUS: Final = "cozeloop.status_code"
COZE_STORES: Final = ("vikingdb_name", "es_index", "es_name")

# --- Spring AI --------------------------------------------------------------------------------
SPRING_KIND: Final = "spring.ai.kind"
SPRING_CONVERSATION: Final = "spring.ai.chat.client.conversation.id"
SPRING_TOOL_NAME: Final = "spring.ai.tool.definition.name"
SPRING_TOOL_ARGUMENTS: Final = "spring.ai.tool.call.arguments"
SPRING_TOOL_RESULT: Final = "spring.ai.tool.call.result"
DB_OPERATION_NAME: Final = "db.operation.name"
DB_QUERY_TEXT: Final = "db.vector.query.content"
DB_QUERY_DOCUMENTS: Final = "db.vector.query.response.documents"
DB_COLLECTION: Final = "db.collection.name"
