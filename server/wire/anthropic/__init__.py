"""Anthropic's Messages API: its requests as chat requests, and what its clients get back."""
