"""The pages: rendered here, readable without scripts, and nothing on them comes from elsewhere."""
