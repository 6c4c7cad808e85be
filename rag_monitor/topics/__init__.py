"""What questions are about: groups of them, found from their words alone, stable over time."""
