"""The API, one module per noun. Routes parse, ask a port, and answer; they decide nothing else."""
