"""Scripted applications with faults planted in them, and how well the monitor names each."""
