"""`GET /v1/models` and `/v1/models/{id}`: the one model that is served."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter
from pydantic import BaseModel
from starlette.requests import Request

from server.state import ServerState, state_of

router = APIRouter()


class ModelCard(BaseModel):
    """OpenAI's model object plus vLLM's `root` and `max_model_len`, which clients use to size prompts."""

    id: str
    object: Literal["model"]
    created: int
    owned_by: str
    root: str
    parent: None
    max_model_len: int


class ModelList(BaseModel):
    object: Literal["list"]
    data: list[ModelCard]


def _card(state: ServerState) -> ModelCard:
    return ModelCard(
        id=state.engine.model_id,
        object="model",
        created=state.started,
        owned_by="strictserve",
        root=state.engine.model_id,
        parent=None,
        max_model_len=state.engine.max_model_len,
    )


@router.get("/v1/models")
async def list_models(request: Request) -> ModelList:
    """The model that is served."""
    return ModelList(object="list", data=[_card(state_of(request))])


@router.get("/v1/models/{model_id:path}")
async def get_model(request: Request, model_id: str) -> ModelCard:
    """The same by its name."""
    state = state_of(request)
    state.check_model(model_id)
    return _card(state)
