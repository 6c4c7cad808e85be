"""Measures of a text against references: BLEU, ROUGE, METEOR, BERTScore, exact match, token F1.

Every function takes plain strings and returns numbers from 0 to 1 (perplexity: 1 and up). What has
no meaning for an input raises `NotApplicable` with the reason; nothing returns NaN.
"""
