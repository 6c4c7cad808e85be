"""Alerts of one application that began together, told as one story."""
