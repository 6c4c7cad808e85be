"""Read traces and scores back over HTTP."""
