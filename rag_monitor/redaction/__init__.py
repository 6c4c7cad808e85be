"""Finding and hiding what must not leave the process."""
