"""A River model behind FastAPI, with nothing on disk: a peer of the service.

Run by the Python of its own environment: ``python river_service.py PORT``.
"""

import sys

import uvicorn
from fastapi import FastAPI, HTTPException
from pydantic import BaseModel
from river.linear_model import LogisticRegression
from river.multiclass import OneVsRestClassifier
from river.optim import AdaGrad


class Item(BaseModel):
    """An item to predict."""

    id: str
    votes: dict[str, str]


class Label(BaseModel):
    """Its label."""

    id: str
    label: str


app = FastAPI()
model = OneVsRestClassifier(LogisticRegression(AdaGrad(0.1)))
waiting: dict[str, dict[str, float]] = {}


@app.get("/readyz")
async def ready() -> dict[str, str]:
    """Answer."""
    return {"status": "ok"}


@app.post("/predict")
async def predict(item: Item) -> dict[str, object]:
    """Predict an item, and keep its votes in memory."""
    features = {f"{expert} {vote}": 1.0 for expert, vote in item.votes.items()}
    waiting[item.id] = features
    return {"id": item.id, "prediction": model.predict_one(features)}


@app.post("/labels")
async def label(given: Label) -> dict[str, object]:
    """Learn a label."""
    if given.id not in waiting:
        raise HTTPException(404)
    features = waiting[given.id]
    prediction = model.predict_one(features)
    model.learn_one(features, given.label)
    return {"id": given.id, "prediction": prediction}


if __name__ == "__main__":
    uvicorn.run(app, port=int(sys.argv[1]), log_level="warning", access_log=False)
