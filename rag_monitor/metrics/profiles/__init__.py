"""Target profiles as data: one TOML file per scenario, shipped and editable."""
