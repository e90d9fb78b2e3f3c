"""Load and faults: scripts to be run by hand (docs/RELIABILITY.md has figures), small versions of which are tests."""
