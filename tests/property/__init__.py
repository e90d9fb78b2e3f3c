"""Random cases in numbers: the engine against the oracle, and against itself."""
