"""Runs over files: read rows, judge and score them, compare and report. Nothing here is live."""
