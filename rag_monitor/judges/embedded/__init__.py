"""The embedded judge: evidence from words, numbers, dates and names, on CPU, on every trace."""
