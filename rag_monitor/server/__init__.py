"""The HTTP side: OTLP in, API, metrics and pages out."""
