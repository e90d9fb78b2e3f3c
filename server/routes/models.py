"""`GET /v1/models` and `/v1/models/{id}`: the one model that is served."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.requests import Request

from server.state import ServerState, state_of

router = APIRouter()


def _card(state: ServerState) -> dict[str, Any]:
    """OpenAI's model object plus vLLM's `max_model_len`, which clients use to size prompts."""
    return {
        "id": state.engine.model_id,
        "object": "model",
        "created": state.started,
        "owned_by": "strictserve",
        "max_model_len": state.engine.max_model_len,
    }


@router.get("/v1/models")
async def list_models(request: Request) -> dict[str, Any]:
    return {"object": "list", "data": [_card(state_of(request))]}


@router.get("/v1/models/{model_id:path}")
async def get_model(request: Request, model_id: str) -> dict[str, Any]:
    state = state_of(request)
    state.check_model(model_id)
    return _card(state)
