"""Uploaded models: a model file becomes the state of a fusion, as an event in its log."""

from __future__ import annotations

import asyncio

from linmax.fusion import Fusion
from linmax.fusion.model_file import fingerprint, from_bytes
from linmax.service.event_log.schema import UPLOADED
from linmax.service.fusions import replay
from linmax.service.fusions.served_panel import ServedPanel
from linmax.service.fusions.served_panels import ServedPanels
from linmax.service.messages.class_keys import class_fault
from linmax.service.messages.errors import ServiceError
from linmax.service.messages.requests import Expert, FusionSettings, check_name

INSERT_MODEL = "INSERT INTO models VALUES (?, ?, ?)"


def read_model(content: bytes, settings: FusionSettings) -> Fusion:
    """Return the session of a model file; an error is one sentence.

    Nothing in the file is executed, and everything is validated, as by `linmax.load`.

    Parameters
    ----------
    content
        The content of the file.
    settings
        What the fusion was created with: a model may not exceed its limits.
    """
    try:
        fusion = from_bytes(content)
    except ValueError as error:
        raise ServiceError(422, "bad_model", str(error)) from None
    names, limits = fusion.names, settings.limits
    for what, count, limit in (
        ("classes", len(names.classes), limits.classes),
        ("experts", len(names.experts), limits.experts),
        ("attributes", len(names.attributes) + len(names.values), limits.attributes),
    ):
        if count > limit:
            raise ServiceError(
                422, "too_many_names", f"the model has {count} {what}, and the limit is {limit}"
            )
    for name in names.experts.names:
        fault = check_name(name, Expert, "an expert") if isinstance(name, str) else f"{name!r} is not text"
        if fault:
            raise ServiceError(422, "bad_model", f"the experts of a fusion on a server have names: {fault}")
    for fault in filter(None, map(class_fault, names.classes.names)):
        raise ServiceError(422, "bad_model", fault)
    if fusion.on_new_class != settings.on_new_class:
        raise ServiceError(
            422,
            "bad_model",
            f"the model has on_new_class={fusion.on_new_class!r}, and the fusion {settings.on_new_class!r}",
        )
    return fusion


async def upload(panels: ServedPanels, panel: ServedPanel, content: bytes, actor: str) -> None:
    """Make a model the state of a fusion; labels that come later are learned by it.

    Parameters
    ----------
    panels
        The fusions.
    panel
        The fusion.
    content
        The content of a model file.
    actor
        Who wants it.
    """
    fusion = await asyncio.to_thread(read_model, content, panel.settings)
    digest = await asyncio.to_thread(fingerprint, fusion)
    async with panel.lock:
        panels.check_open(panel)
        # what is not amended to null counts, so an upload has a label, too
        body = {"label": digest, "trials": fusion.trials, "learner": repr(fusion.learner)}
        position, event = panels.event(panel.number, UPLOADED, actor, None, None, body)
        future = panels.submit([event, (INSERT_MODEL, (position, panel.number, content))])
        panel.applied += not panel.rebuilding
        panel.amendments += 1  # a state that is being rebuilt lacks the upload
        panel.take(replay.FusionState(fusion, position, position, panel.snapshot, 1))
        panel.quick.clear()
    await future
