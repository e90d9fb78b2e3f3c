"""The HTTP server: OpenAI's API in front of an engine whose sampling follows our masks.

Start reading at `app.py` (what is wired to what), then `routes/chat.py` (one request's life).
Importing this package does nothing, so `server.vllm_plugin` works in processes without FastAPI.
"""

from __future__ import annotations

__version__ = "0.1.0"
