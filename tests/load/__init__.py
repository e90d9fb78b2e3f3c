"""Load and faults: scripts that are run by hand (docs/RELIABILITY.md has figures), small versions of which are tests."""
