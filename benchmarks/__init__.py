"""Scripts behind every published figure."""
