"""The traffic of `linmax serve --demo`: votes that come now, and labels that come later."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

from linmax.client import Client, ClientError
from linmax.problems import majority

FUSION, LEARNER = "demo", "Averaged(Winnow(1.2))"
RELEVANT, EXPERTS, CLASSES = 3, 9, 3
PAUSE = 0.05  # seconds between two items
LATEST = 100  # a label comes at most so many items after the prediction
REPORT = 100  # items between two lines


class Traffic:
    """Items of a generated panel, in which three of nine experts know the class together.

    Parameters
    ----------
    url, token
        The server.
    pause
        Seconds between two items.
    link
        A link to the dashboard.
    """

    def __init__(self, url: str, token: str, pause: float = PAUSE, link: str | None = None) -> None:
        self.url = url
        self.token = token
        self.pause = pause
        self.link = link or url
        self._chance = random.Random(0)

    def run(self, announce: Callable[[str], None], items: int = 100_000) -> None:
        """Send items until there are no more, or Ctrl-C.

        Parameters
        ----------
        announce
            Called with lines for the person who looks on.
        items
            The number of items.
        """
        votes, labels = majority(
            items, relevant=RELEVANT, experts=EXPERTS, classes=CLASSES, noise=0.05, seed=0
        )
        waiting: list[tuple[int, str, str]] = []
        with Client(self.url, self.token) as client:
            client.create(FUSION, learner=LEARNER)
            for line in self._introduction():
                announce(line)
            for number in range(items):
                item = {f"expert {i}": f"class {vote}" for i, vote in enumerate(votes[number]) if vote >= 0}
                id_ = client.predict(FUSION, item)["id"]
                waiting.append((number + self._chance.randrange(1, LATEST), id_, f"class {labels[number]}"))
                self._label(client, waiting, number)
                if (number + 1) % REPORT == 0:
                    announce(self._report(client.describe(FUSION)))
                time.sleep(self.pause)

    def _label(self, client: Client, waiting: list[tuple[int, str, str]], number: int) -> None:
        """Send the labels whose time has come."""
        for late in [one for one in waiting if one[0] <= number]:
            waiting.remove(late)
            try:
                client.label(FUSION, late[1], late[2])
            except ClientError as error:
                if error.status != 404:  # somebody has deleted the fusion
                    raise

    def _introduction(self) -> list[str]:
        look = f"curl -H 'Authorization: Bearer {self.token}' {self.url}/v1/fusions/{FUSION}"
        return [
            f"a demo server listens on {self.url}",
            f"the dashboard, to be opened once within ten minutes: {self.link}",
            f"nine experts vote on each item, and its label comes up to {LATEST} items later",
            f"the state:       {look}",
            f"whom to trust:   {look}/weights",
            f"all requests:    {self.url}/docs",
            "Ctrl-C ends it and removes its data",
        ]

    def _report(self, found: dict[str, Any]) -> str:
        trials, mistakes = found["trials"], found["mistakes"]
        rate = f"{mistakes / trials:.1%}" if trials else "-"
        return f"{trials} labels learned, {found['waiting']} wait, {mistakes} mistakes ({rate})"
