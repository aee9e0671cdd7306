"""Words of earlier versions: what old traces and scenario files say, and today's word for it."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field


class Former(Struct, frozen=True, kw_only=True):
    """For one model, each word that was renamed (the key) with today's (the value).

    ``actions`` are tags of actions, ``fields`` fields of actions (``start.epoch``), ``parameters``
    names of parameters, ``values`` their values by today's name of the parameter, ``safeguards``
    names of safeguards, ``verbs`` the first words of a line of a scenario file, ``shown`` what such
    a file shows.
    """

    actions: Mapping[str, str] = field(default_factory=dict)
    fields: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    safeguards: Mapping[str, str] = field(default_factory=dict)
    verbs: Mapping[str, str] = field(default_factory=dict)
    shown: Mapping[str, str] = field(default_factory=dict)
