"""Settings: every stage's own options, gathered once from TOML and the environment."""
