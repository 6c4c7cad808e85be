"""The store: one object that opens a database and hands out its repositories."""
