"""The requests: by which epoch each was planned, who has answered, whether the plan still holds."""

from __future__ import annotations

from kit.protocols.storage.events import QuotaRow
from kit.protocols.storage.facts import moment as facts
from kit.protocols.storage.facts.moment import RequestRow
from kit.protocols.storage.facts.named import request_key
from kit.views.fragment import Frag, h
from kit.views.panel import Panel, Scene
from kit.views.parts import bulb

SIGNS = {"waiting": "·", "open": "…", "done": "✓", "failed": "✗"}


def draw_requests(scene: Scene) -> Frag:
    """Draw a card a request."""
    rows = facts.requests(scene.model, scene.state)
    return h(
        "ul",
        [_card(row, scene.model.history.unit) for row in rows],
        class_="asked",
        aria_label="requests",
    )


def _card(row: RequestRow, unit: str) -> Frag:
    return h(
        "li",
        h("div", bulb(SIGNS[row.phase], row.phase), h("b", row.title), f" {_request_line(row)}"),
        [h("div", line, class_="told") for line in _lines(row, unit)],
        k=f"request:{row.number}",
        class_="request",
        data_of=request_key(row.number),
    )


def _request_line(row: RequestRow) -> str:
    where = f"@{row.dc}" if row.dc else ""
    return f"{row.coordinator}{where}, {level_line(row)}"


def level_line(row: RequestRow) -> str:
    """``QUORUM: 2 of 3 (A, B, C) must answer``; without a plan the level alone."""
    needs = " and ".join(
        f"{quota.needed} of {len(quota.replicas)} ({', '.join(quota.replicas)})"
        for quota in row.plan
    )
    return f"{row.level}: {needs} must answer" if needs else row.level


def _lines(row: RequestRow, unit: str) -> list[str]:
    """What there is to say of a request, a sentence each."""
    if row.phase == "waiting":
        return ["not asked yet"]
    late = [f"still on its way to {', '.join(row.on_the_way)}"] if row.on_the_way else []
    if row.phase != "open":
        return [row.result, *late]
    knows = f", now knows {row.knows}" if row.knows != row.planned else ""
    lines = [f"planned at {unit} {row.planned}{knows}", *late]
    if row.writes_back:
        lines.insert(0, f"found {row.writes_back} and writes it back before it answers")
    have = "hold it" if row.writes_back else "have answered"
    lines += [f"{count_line(quota)} {have}" for quota in row.plan]
    if row.enough:
        lines.append("plan holds: answer the client" if row.valid else _stale(row))
    return lines


def count_line(quota: QuotaRow) -> str:
    """``1 of 2 needed of A, B, C: A``."""
    names = f": {', '.join(quota.counted)}" if quota.counted else ""
    return f"{len(quota.counted)} of {quota.needed} needed of {', '.join(quota.replicas)}{names}"


def _stale(row: RequestRow) -> str:
    unmet = "; ".join(count_line(quota) for quota in row.judged if not quota.met)
    return f"! plan no longer valid: {unmet} count now"


def requests_text(scene: Scene) -> str:
    """Write a line per request."""
    return "\n".join(
        f"  {row.title} ({_request_line(row)}): {'; '.join(_lines(row, scene.model.history.unit))}"
        for row in facts.requests(scene.model, scene.state)
    )


REQUESTS = Panel("requests", "Requests", draw_requests, requests_text, still=True)
