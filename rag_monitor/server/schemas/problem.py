"""RFC 9457 problem details, as /openapi.json describes them."""

from __future__ import annotations

from pydantic import BaseModel, Field


class FieldError(BaseModel):
    """One wrong field."""

    field: str = Field(examples=["value"])
    message: str = Field(examples=["Input should be less than or equal to 1"])


class ProblemDetails(BaseModel):
    """What went wrong, and how to mend it."""

    type: str = Field(examples=["urn:rag-monitor:problem:invalid-input"])
    title: str = Field(examples=["Unprocessable Entity"])
    status: int = Field(examples=[422])
    detail: str = Field(examples=["`value`: Input should be less than or equal to 1."])
    instance: str = Field(examples=["/api/v1/feedback"])
    errors: list[FieldError] | None = None
