"""From scores to windows: rollups, estimates with intervals, baselines."""
