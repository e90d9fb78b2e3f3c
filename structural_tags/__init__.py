"""What a model family's output looks like, written once as data, and everything that follows from it.

`formats` holds the data; `choice` turns it and a request's tools into a structural tag for the grammar
engine; `output` reads the model's text back into reasoning, content and tool calls; `model` types the
structural-tag language for people who write tags in Python. Pure Python: no torch, no fastapi, no vllm.
"""
