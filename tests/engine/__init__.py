"""What the engine promises to its callers, one file per promise."""
