"""The verbs of both clients: a session over HTTP."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from linmax.client.batch_verbs import BatchVerbs, Item
from linmax.client.errors import bad_request
from linmax.client.requests import FILE, NOTHING, call, fusion_call, new_id, to_item, without_none
from linmax.inputs import DEFAULT


class Verbs(BatchVerbs):
    """The requests that both clients make; `_send` decides how."""

    def create(
        self,
        name: str,
        *,
        learner: str | None = None,
        classes: list[Any] | None = None,
        on_new_class: str | None = None,
        abstain: Any = DEFAULT,
        limits: dict[str, Any] | None = None,
    ) -> Any:
        """Create a fusion; if it exists with the same settings, nothing happens.

        Parameters
        ----------
        name
            Its name.
        learner
            The learner as text, such as ``"Averaged(Winnow(1.2))"``; None is the default.
        classes
            Classes that are known in advance.
        on_new_class
            "add" or "error", as for `Fusion`.
        abstain
            The vote that abstains, as for `Fusion`; None if no other than None does.
        limits
            What it may grow to, such as ``{"experts": 50}``.

        Returns
        -------
        dict
            As from `describe`.
        """
        learner = None if learner is None else str(learner)
        body = without_none(learner=learner, classes=classes, on_new_class=on_new_class, limits=limits)
        body |= {} if abstain is DEFAULT else {"abstain": abstain}
        return self._send(fusion_call("PUT", name, body=body))

    def predict(
        self,
        name: str,
        votes: Item | None = None,
        *,
        attributes: Item | None = None,
        id: str | None = None,
        explain: bool = False,
    ) -> Any:
        """Predict an item; its votes wait for a label.

        Parameters
        ----------
        name
            The fusion.
        votes, attributes
            The item, as for `Fusion.predict_one`.
        id
            What names the item from now on; without it, a new one.
        explain
            Whether the answer says what each expert contributed.

        Returns
        -------
        dict
            With id, prediction, probabilities and version.
        """
        id = new_id() if id is None else id
        body = without_none(id=id, votes=votes, attributes=attributes, explain=explain or None)
        return self._send(fusion_call("POST", name, "predict", body=to_item(body)))

    def label(self, name: str, id: str, label: Any, *, replaces: Any = None, after: int | None = None) -> Any:
        """Teach the label of an item that was predicted.

        Parameters
        ----------
        name
            The fusion.
        id
            The item.
        label
            Its true class.
        replaces
            The label that it was given before, if that was wrong.
        after
            The position of the event that has set that label, as its answer says: the label is not replaced
            if it was set again since.

        Returns
        -------
        dict
            With id, prediction, right and position.
        """
        body = without_none(id=id, label=label, replaces=replaces, after=after)
        return self._send(fusion_call("POST", name, "labels", body=to_item(body)))

    def learn(
        self,
        name: str,
        votes: Item | None,
        label: Any,
        *,
        attributes: Item | None = None,
        id: str | None = None,
    ) -> Any:
        """Predict an item, then learn its label.

        Parameters
        ----------
        name
            The fusion.
        votes, attributes
            The item, as for `Fusion.learn_one`.
        label
            Its true class.
        id
            What names the item from now on; without it, a new one.

        Returns
        -------
        dict
            With id, prediction, right and position.
        """
        id = new_id() if id is None else id
        body = without_none(id=id, votes=votes, label=label, attributes=attributes)
        return self._send(fusion_call("POST", name, "learn", body=to_item(body)))

    def next_expert(
        self,
        name: str,
        votes: Item,
        *,
        experts: Iterable[str] | None = None,
        attributes: Item | None = None,
        prices: Item | None = None,
        score_range: tuple[float, float] | None = None,
    ) -> Any:
        """Return whom to ask next about an item, as from `Fusion.next_expert`; nothing is stored.

        Parameters
        ----------
        name
            The fusion.
        votes
            The answers so far; None for an expert that was asked and abstains.
        experts, attributes, prices, score_range
            As for `Fusion.next_expert`.

        Returns
        -------
        dict
            With expert: its name, or None if the prediction is settled.
        """
        if isinstance(experts, str):
            raise bad_request(f"experts= must be a list of experts (got {experts[:100]!r})")
        listed = None if experts is None else list(experts)
        body = without_none(
            votes=votes, experts=listed, attributes=attributes, prices=prices, score_range=score_range
        )
        return self._send(fusion_call("POST", name, "next-expert", body=to_item(body)))

    def download_model(self, name: str) -> Any:
        """Return the model as the content of a file that `linmax.load` reads.

        Parameters
        ----------
        name
            The fusion.

        Returns
        -------
        bytes
            The content.
        """
        return self._send(fusion_call("GET", name, "model")._replace(reads=FILE))

    def upload_model(self, name: str, content: bytes) -> Any:
        """Make a model the state of a fusion; what the fusion has learned before is replaced.

        Parameters
        ----------
        name
            The fusion.
        content
            The content of a file of `Fusion.save`.

        Returns
        -------
        dict
            As from `describe`.
        """
        return self._send(fusion_call("PUT", name, "model")._replace(body=content, sends=FILE))

    def change_limits(self, name: str, limits: dict[str, Any]) -> Any:
        """Change what a fusion may grow to.

        Parameters
        ----------
        name
            The fusion.
        limits
            The limits to change, such as ``{"experts": 200}``; the others stay.

        Returns
        -------
        dict
            As from `describe`.
        """
        return self._send(fusion_call("PATCH", name, body={"limits": limits}))

    def fusions(self) -> Any:
        """Return the names of the fusions that the token may read."""
        return self._send(call("GET", "fusions"))

    def describe(self, name: str) -> Any:
        """Describe a fusion: its classes, experts, trials, mistakes, digest and settings.

        Parameters
        ----------
        name
            The fusion.
        """
        return self._send(fusion_call("GET", name))

    def weights(self, name: str) -> Any:
        """Return the weight of every sub-expert.

        Parameters
        ----------
        name
            The fusion.
        """
        return self._send(fusion_call("GET", name, "weights"))

    def item(self, name: str, id: str, *, explain: str | None = None) -> Any:
        """Return what is known about an item.

        Parameters
        ----------
        name, id
            The fusion and the item.
        explain
            "now" adds what each expert contributes with the present weights, "then" with those of the time
            of the prediction.
        """
        return self._send(fusion_call("GET", name, "items", id, query=without_none(explain=explain)))

    def history(self, name: str, *, points: int = 200) -> Any:
        """Return mistakes over time: of linmax, the plurality, the best expert and the most frequent class.

        Parameters
        ----------
        name
            The fusion.
        points
            The largest number of points, from 2 to 1000.

        Returns
        -------
        dict
            With trials, position, points (a list per column) and experts (mistakes of the best ones).
        """
        return self._send(fusion_call("GET", name, "history", query={"points": points}))

    def delete(self, name: str) -> Any:
        """Delete a fusion.

        Parameters
        ----------
        name
            The fusion.
        """
        return self._send(fusion_call("DELETE", name)._replace(reads=NOTHING))
