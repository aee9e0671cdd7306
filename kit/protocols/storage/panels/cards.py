"""Cards of replicas and of requests, and what clients saw of each request in time."""

from collections.abc import Iterator

from kit.protocols.storage import facts
from kit.protocols.storage.events import EpochCommitted, QuotaRow
from kit.protocols.storage.facts import ReplicaRow, RequestRow, request_key
from kit.protocols.storage.panels.spacetime import Placed, Span, events, layout, wrong_answers
from kit.views.fragment import Frag, h
from kit.views.labels import SIZE, Box, fitting, wide
from kit.views.panel import Panel, Scene
from kit.views.parts import bulb
from kit.views.spacetime import tag

HELD_SIGNS = {"nothing": "–", "value": "●", "tombstone": "✝"}


def draw_replicas(scene: Scene) -> Frag:
    """Draw a card a replica, in the order of the range's names."""
    rows, then = facts.replicas(scene.model, scene.state), {}
    if scene.before is not None:
        then = {row.name: row for row in facts.replicas(scene.model, scene.before)}
    return h(
        "ul",
        [_replica_card(scene, row, then.get(row.name)) for row in rows],
        class_="cards",
        aria_label="replicas",
    )


def cell(row: ReplicaRow, changed: str = "") -> Frag:
    """The cell of a replica."""
    return h("span", f"{HELD_SIGNS[row.held]} {row.cell}", class_=f"cellar {row.held}{changed}")


def _replica_card(scene: Scene, row: ReplicaRow, then: ReplicaRow | None) -> Frag:
    changed = then is not None and then.cell != row.cell
    caught_up = then is not None and then.epoch != row.epoch
    behind = f" · {row.behind} behind" if row.behind else ""
    return h(
        "li",
        h(
            "div",
            h("b", row.name),
            " ",
            h("span", f"knows {row.epoch}", class_="changed" if caught_up else None),
            h("small", behind),
            None if row.up else h("strong", " ✗ down"),
        ),
        h("div", cell(row, " changed" * changed)),
        [h("div", words, class_="leftover" if words.startswith("data not owned") else None)
         for words in _notes(scene, row)],
        [h("div", words, k=f"card:{row.name}:copy:{key}") for key, words in _ways(row)],
        k=f"card:{row.name}",
        class_="card" if row.up else "card down",
        data_of=row.name,
    )  # fmt: skip


def _notes(scene: Scene, row: ReplicaRow) -> Iterator[str]:
    yield row.role
    if row.read_from or row.written_to:
        yield f"reads {', '.join(row.read_from)}; writes {', '.join(row.written_to)}"
    if row.own_role != row.role:
        yield f"at its own {scene.model.history.unit}: {row.own_role}"
    if row.not_owned:
        why = facts.why_kept(scene.model, scene.state, row.name)
        yield f"data not owned: no longer a replica, and {why}"


def _ways(row: ReplicaRow) -> Iterator[tuple[str, str]]:
    for way in row.copies:
        leaves = way.source == row.name
        ends = f"→ copy to {way.target}" if leaves else f"← copy from {way.source}"
        key = f"{way.source}:{way.target}" + f":{way.session}" * bool(way.session)
        yield key, f"{ends}: {way.status}" + (f", carrying {way.text}" if way.text else "")


REPLICAS = Panel("replicas", "Replicas", draw_replicas, still=True)

PHASE_SIGNS = {"waiting": "·", "open": "…", "done": "✓", "failed": "✗"}


def draw_requests(scene: Scene) -> Frag:
    """Draw a card a request."""
    cards = [
        h(
            "li",
            h("div", bulb(PHASE_SIGNS[row.phase], row.phase), h("b", row.title),
              f" {_request_line(row)}"),
            [h("div", line, class_="told") for line in _lines(row, scene.model.history.unit)],
            k=request_key(row.number),
            class_="request",
            data_of=request_key(row.number),
        )
        for row in facts.requests(scene.model, scene.state)
    ]  # fmt: skip
    return h("ul", cards, class_="asked", aria_label="requests")


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
    if row.phase == "waiting":
        return ["not sent yet"]
    late = [f"still on its way to {', '.join(row.on_the_way)}"] if row.on_the_way else []
    if row.phase != "open":
        return [row.result, *late]
    knows = f", now knows {row.knows}" if row.knows != row.planned else ""
    lines = [f"planned at {unit} {row.planned}{knows}", *late]
    if row.writes_back:
        lines.insert(0, f"found {row.writes_back} and writes it back before it answers")
    have = "hold it" if row.writes_back else "answers"
    lines += [f"{have}: {count_line(quota)}" for quota in row.plan]
    if row.enough:
        unmet = "; ".join(count_line(quota) for quota in row.judged if not quota.met)
        stale = f"! plan no longer valid: now {unmet}"
        lines.append("plan still valid: answer the client" if row.valid else stale)
    return lines


def count_line(quota: QuotaRow) -> str:
    """``1 of A, B, C (2 needed): A``."""
    return quota.count + (f": {', '.join(quota.counted)}" if quota.counted else "")


REQUESTS = Panel("requests", "Requests", draw_requests, still=True)

WIDTH, ASKED_ROW, TOP = 330, 40, 22
EDGE = 6
LETTERS = SIZE


def operations(scene: Scene) -> list[Span]:
    """The requests that were asked so far, in the order of their numbers."""
    return sorted(layout(scene).spans, key=lambda span: span[0].event.request)


def draw_operations(scene: Scene) -> Frag:
    """Draw a bar per request, over the steps of the whole run."""
    spans = operations(scene)
    if not spans:
        return h("p", "No client has asked for anything yet.", k="no-operations", class_="soft")
    unit = (WIDTH - 2 * EDGE) / max(len(scene.way()), 1)
    height = TOP + ASKED_ROW * len(spans) + 4
    words = "; ".join(_asked_line(scene, *span) for span in spans)
    return h(
        "div",
        h(
            "svg",
            _epoch_lines(scene, unit, height),
            [_bar(scene, *span, i, unit) for i, span in enumerate(spans)],
            viewBox=f"0 0 {WIDTH} {height}",
            role="img",
            aria_label=f"requests over time: {words}",
            class_="operations-drawing",
        ),
        h("ul", [h("li", h("b", "! "), words, k=f"wrong:{i}", class_="witness")
                 for i, words in enumerate(_witnesses(scene))]),
    )  # fmt: skip


def _epoch_lines(scene: Scene, unit: float, height: float) -> list[Frag]:
    epochs = [
        (f"op-epoch:{step + 1}", EDGE + unit * (step + 1), str(event.epoch))
        for step, event in events(scene)
        if isinstance(event, EpochCommitted)
    ]
    shown = fitting(
        [(key, (Box(x, TOP - 12, wide(epoch, LETTERS)),)) for key, x, epoch in reversed(epochs)]
    )
    return [
        h(
            "g",
            h("path", d=f"M{x:.1f} {TOP - 4}V{height}", class_="barrier"),
            tag(epoch, min(x, WIDTH - 12), TOP - 8) if key in shown else None,
            k=key,
        )
        for key, x, epoch in epochs
    ]


def _bar(scene: Scene, first: Placed, last: Placed | None, i: int, unit: float) -> Frag:
    y = TOP + ASKED_ROW * i + 4
    left = EDGE + unit * (first.step + 0.5)
    right = EDGE + unit * ((last.step + 1 if last else len(scene.way())) + 0.3)
    event, kind, sign, result = first.event, "open", "…", "no answer yet"
    if last:
        kind, sign = ("good", "✓") if last.event.ok else ("failed", "✗")
        if event.request in wrong_answers(scene):
            kind, sign = "wrong", "!"
        result = last.event.result
    words = f"{sign} {event.title}, {event.coordinator}: {result}"
    width = round(max(right - left, 10), 1)
    return h(
        "g",
        tag(words, 0, y + 10, "tag strong", "start"),
        h("rect", x=round(left, 1), y=y + 15, width=width, height=14, rx=3,
          class_=f"request {kind}"),
        k=f"op:{event.request}",
    )  # fmt: skip


def _asked_line(scene: Scene, first: Placed, last: Placed | None) -> str:
    title, begin = f"{first.event.title} by {first.event.coordinator}", scene.counted(first.step)
    if last is None:
        return f"{title} from step {begin}, no answer yet"
    wrong = wrong_answers(scene).get(first.event.request)
    mark = f", BROKEN: {wrong.witness}" if wrong else ""
    return f"{title}, steps {begin} to {scene.counted(last.step)}: {last.event.result}{mark}"


def _witnesses(scene: Scene) -> list[str]:
    return [f"step {scene.counted(breach.step)}: {breach.witness}" for breach in scene.breaches()]


def operations_text(scene: Scene) -> str:
    """Write a line per request, and what was broken."""
    lines = [f"  {_asked_line(scene, *span)}" for span in operations(scene)]
    lines += [f"! {words}" for words in _witnesses(scene)]
    return "\n".join(lines) or "  no client has asked for anything yet"


OPERATIONS = Panel(
    "operations", "What clients saw", draw_operations, operations_text, tab="Clients"
)
