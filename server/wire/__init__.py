"""OpenAI's JSON as frozen pydantic models: what clients send and what they get back."""
