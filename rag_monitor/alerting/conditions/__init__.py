"""The conditions of rules, one module per family of kinds: each turns a window into a finding."""
