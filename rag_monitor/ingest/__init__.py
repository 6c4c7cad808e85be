"""Bytes to domain: wire formats, conventions, assembly."""
