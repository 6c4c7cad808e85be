"""What each kind of rule sees in a window: one module per family of kinds."""
