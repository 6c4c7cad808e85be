"""Arithmetic from verdicts and references to numbers."""
