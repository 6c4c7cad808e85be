"""Training and measuring the embedded judge."""
