"""Which traces are worth an expensive judge, and with what probability."""
