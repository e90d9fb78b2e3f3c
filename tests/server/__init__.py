"""The HTTP side against the scripted engine, with the official OpenAI client as oracle."""
