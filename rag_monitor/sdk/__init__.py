"""Runs inside the user's application: records, never raises, never blocks."""
