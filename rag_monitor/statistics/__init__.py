"""Pure functions: intervals, weighting, estimators, detectors, agreement."""
