"""Chinese and English text: sentences, statements, tokens, numbers, dates, refusals."""
