"""Who answers: the judge protocol, its limits and the judges that ship with rag-monitor."""
