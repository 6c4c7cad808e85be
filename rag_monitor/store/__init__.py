"""Domain to rows and back; the only importer of SQLAlchemy."""
