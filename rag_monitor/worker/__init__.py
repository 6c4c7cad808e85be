"""The clockwork: which job runs when, and how it starts and stops."""
