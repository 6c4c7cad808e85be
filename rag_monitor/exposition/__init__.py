"""Numbers out: Prometheus and OpenTelemetry evaluation events."""
