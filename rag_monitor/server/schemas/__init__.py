"""What goes over the wire, as pydantic models. `from_domain` builds them from domain values."""
