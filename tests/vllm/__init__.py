"""Tests against the real vLLM with the small model on the CPU. Skipped, with the reason, where either is missing."""
