"""The verbs of both clients for many items in one request: as lines of JSON, or as tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from linmax.client.requests import Call, batch, table_batch

Item = Mapping[str, Any]


class BatchVerbs:
    """Requests for batches; `_send` decides how they are made."""

    def _send(self, request: Call) -> Any:
        raise NotImplementedError

    def predict_many(self, name: str, items: Iterable[Item]) -> Any:
        """Predict items in one request.

        Parameters
        ----------
        name
            The fusion.
        items
            Dicts with votes and, if needed, id and attributes; at most 10,000.

        Returns
        -------
        list of dict
            An answer for each, in the same order; one that could not be predicted has the key "error", also
            if it could not be sent (a score that is NaN, a value that JSON does not have).
        """
        return self._send(batch(name, "predict", items))

    def label_many(self, name: str, items: Iterable[Item]) -> Any:
        """Teach the labels of items in one request.

        Parameters
        ----------
        name
            The fusion.
        items
            Dicts with id, label and, if needed, replaces and after.

        Returns
        -------
        list of dict
            As from `predict_many`.
        """
        return self._send(batch(name, "labels", items))

    def learn_many(self, name: str, items: Iterable[Item]) -> Any:
        """Learn items in one request.

        Parameters
        ----------
        name
            The fusion.
        items
            Dicts with votes, label and, if needed, id and attributes.

        Returns
        -------
        list of dict
            As from `predict_many`.
        """
        return self._send(batch(name, "learn", items))

    def next_expert_many(self, name: str, items: Iterable[Item]) -> Any:
        """Return whom to ask next about each of many items in one request; nothing is stored.

        Parameters
        ----------
        name
            The fusion.
        items
            Dicts with votes and, if needed, id, experts, attributes, prices and score_range, as for
            `next_expert`; at most 10,000.

        Returns
        -------
        list of dict
            An answer for each, in the same order, with the id if one was given; one that is wrong has the key
            "error".
        """
        return self._send(batch(name, "next-expert", items))

    def predict_table(self, name: str, table: Any) -> Any:
        """Predict the rows of a table in one request, as an Arrow stream.

        Parameters
        ----------
        name
            The fusion.
        table
            A table of pyarrow, pandas or polars with a column of votes per expert and, if needed, `id`; at
            most 100,000 rows.

        Returns
        -------
        pyarrow.Table
            An answer for each row; one that could not be predicted has `status`, `code` and `message`.
        """
        return self._send(table_batch(name, "predict", table))

    def label_table(self, name: str, table: Any) -> Any:
        """Teach the labels of a table in one request.

        Parameters
        ----------
        name
            The fusion.
        table
            A table with the columns `id`, `label` and, if needed, `replaces`.

        Returns
        -------
        pyarrow.Table
            As from `predict_table`.
        """
        return self._send(table_batch(name, "labels", table))

    def learn_table(self, name: str, table: Any) -> Any:
        """Learn the rows of a table in one request.

        Parameters
        ----------
        name
            The fusion.
        table
            A table as for `predict_table`, with the column `label`.

        Returns
        -------
        pyarrow.Table
            As from `predict_table`.
        """
        return self._send(table_batch(name, "learn", table))

    def next_expert_table(self, name: str, table: Any) -> Any:
        """Return whom to ask next about the rows of a table in one request, as an Arrow stream.

        Parameters
        ----------
        name
            The fusion.
        table
            A table with a column of answers per expert and, if needed, `id`; null is an expert that was not
            asked, and a vote that abstains, such as -1, one that has nothing to say.

        Returns
        -------
        pyarrow.Table
            With `id` and `expert`, which is null if the prediction is settled; a row that is wrong has
            `status`, `code` and `message`.
        """
        return self._send(table_batch(name, "next-expert", table))
