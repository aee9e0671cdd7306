"""A class in the browser: twelve phones, two of them hostile, and the wall."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.waiting import PATIENCE

pytestmark = pytest.mark.browser
PHONE = {"width": 390, "height": 780}
SLOW = PATIENCE * 1000


@pytest.fixture
def addresses() -> Iterator[tuple[str, str]]:
    """The wall's and the seats' address of a class on discovery, twelve nodes, in a process."""
    command = [sys.executable, "-m", "kit", "class", "discovery/twelve"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        wall, seats = (process.stdout.readline().split()[-1] for _ in range(2))
        assert "faults you can cause" in process.stdout.readline()
        assert "ends the class" in process.stdout.readline()
        yield wall, seats
        process.terminate()


def sit(phone: Page, address: str, code: str, node: str) -> None:
    """Come in with the code, and be a node."""
    phone.goto(address)
    phone.fill("#code", code)
    phone.press("#code", "Enter")
    phone.click(f"[data-node='{node}']")
    expect(phone.locator("#seen h2")).to_have_text(f"You are node {node}")


# A line of which the page hears only when `opens` is called that it is open.
LATE = """(() => {
  const Real = WebSocket;
  window.WebSocket = class extends Real {
    isLate = true;
    get readyState() { return this.isLate ? Real.CONNECTING : super.readyState; }
    set onopen(hear) {
      super.onopen = () => { window.opens = () => { this.isLate = false; hear(); }; };
    }
  };
})()"""


def test_a_code_that_is_typed_early_is_said_once_the_line_is_open(
    browser: Browser, addresses: tuple[str, str]
) -> None:
    """Nobody has to press twice because the room was slow."""
    context = browser.new_context(viewport=PHONE)
    wall, phone = context.new_page(), context.new_page()
    try:
        wall.goto(addresses[0])
        code = wall.locator("#head b").inner_text(timeout=SLOW)
        phone.add_init_script(LATE)
        phone.goto(addresses[1])
        phone.fill("#code", code)
        phone.press("#code", "Enter")
        phone.wait_for_function("!!window.opens")
        phone.evaluate("window.opens()")
        expect(phone.locator("[data-node='B']")).to_be_visible()
    finally:
        context.close()


HOSTILE = """async ({ code, acts }) => {
  const cut = () => new Promise((done) => {
    const line = new WebSocket(location.href.replace("http", "ws") + "seat");
    line.onclose = () => done();
    line.onopen = () => {
      line.send(JSON.stringify({ say: "enter", code }));
      line.send(JSON.stringify({ say: "sit", node: "<img src=x onerror=alert(1)>" }));
      for (const act of acts) line.send(JSON.stringify({ say: "press", act }));
      for (let n = 0; n < 80; n += 1) line.send(JSON.stringify({ say: "leave" }));
      line.send("x".repeat(100000));
    };
  });
  for (let n = 0; n < 5; n += 1) await cut();
  return true;
}"""


def test_a_class_of_twelve_makes_one_group(browser: Browser, addresses: tuple[str, str]) -> None:
    """Ten honest phones play on while two flood, guess and forge; the wall shows every step."""
    wall_address, address = addresses
    contexts = [browser.new_context(viewport=PHONE) for _ in range(12)]
    wall = browser.new_page()
    errors: list[str] = []
    try:
        wall.on("pageerror", lambda error: errors.append(str(error)))
        wall.goto(wall_address)
        code = wall.locator("#head b").inner_text(timeout=SLOW)
        expect(wall.locator(".kp-next")).to_be_visible(timeout=SLOW)
        phones = {}
        for node, context in zip("ABCDEFGHIJ", contexts, strict=False):
            phones[node] = context.new_page()
            phones[node].on("pageerror", lambda error: errors.append(str(error)))
            sit(phones[node], address, code, node)
        expect(wall.locator("#head button")).to_have_count(10)
        forged = (
            phones["A"].locator("#seen button").evaluate_all("all => all.map((b) => b.dataset.act)")
        )
        for context, tried in zip(contexts[10:], ("AAAA AAAA", code), strict=True):
            hostile = context.new_page()
            hostile.goto(address)
            assert hostile.evaluate(HOSTILE, {"code": tried, "acts": forged}) is True
        expect(wall.locator(".kp-where")).to_have_text("0 / 0")
        steps = 0
        for _ in range(4):
            for node, phone in phones.items():
                expect(phone.locator(f"#seen[data-step='{steps}']")).to_be_visible(timeout=SLOW)
                mine = phone.locator("#seen button")
                if mine.count():
                    mine.first.click()
                    steps += 1
                    expect(wall.locator(".kp-where")).to_have_text(
                        f"{steps} / {steps}", timeout=SLOW
                    )
                    expect(phone.locator("#seen h2")).to_have_text(f"You are node {node}")
        assert steps > 5
        phones["B"].reload()
        expect(phones["B"].locator("#seen h2")).to_have_text("You are node B")
        expect(wall.locator("#head button")).to_have_count(10)
        assert not errors
    finally:
        for context in contexts:
            context.close()
        wall.close()


def test_the_wall_drives_the_player(browser: Browser, addresses: tuple[str, str]) -> None:
    """On the wall the Player works as in a notebook, and a seat follows it."""
    wall_address, address = addresses
    wall, phone = browser.new_page(), browser.new_page(viewport=PHONE)
    try:
        wall.goto(wall_address)
        code = wall.locator("#head b").inner_text(timeout=SLOW)
        sit(phone, address, code, "A")
        for step in (1, 2):
            wall.click(".kp-next")
            expect(wall.locator(".kp-where")).to_have_text(f"{step} / {step}", timeout=SLOW)
        expect(phone.locator("#seen")).to_contain_text("A receives")
        wall.keyboard.press("ArrowLeft")
        expect(phone.locator("#seen")).to_contain_text("shows an earlier step", timeout=SLOW)
        expect(phone.locator("#seen button")).to_have_count(0)
        wall.click("#head button")
        expect(phone.locator("#nodes")).to_be_visible()
        expect(phone.locator("#wrong")).to_have_text("Your seat as A was freed. Choose a node.")
    finally:
        wall.close()
        phone.close()


BLOCKED = """for (const name of ["sessionStorage", "localStorage"])
  Object.defineProperty(window, name, { get() { throw new Error("denied"); } });"""


def test_a_browser_that_keeps_nothing_says_so_and_plays(
    browser: Browser, addresses: tuple[str, str]
) -> None:
    """Its seat comes back when the line is cut, and no error is thrown."""
    wall_address, address = addresses
    wall, phone = browser.new_page(), browser.new_page(viewport=PHONE)
    errors: list[str] = []
    try:
        wall.goto(wall_address)
        code = wall.locator("#head b").inner_text(timeout=SLOW)
        phone.on("pageerror", lambda error: errors.append(str(error)))
        phone.add_init_script(BLOCKED + LINES)
        sit(phone, address, code, "A")
        expect(phone.locator("#wrong")).to_contain_text("This browser keeps nothing")
        phone.evaluate("lines[0].close()")
        expect(phone.locator("html[data-opened='2']")).to_have_count(1, timeout=SLOW)
        expect(phone.locator("#seen h2")).to_be_visible()
        assert not errors
    finally:
        wall.close()
        phone.close()


LINES = """window.lines = [];
window.WebSocket = class extends WebSocket {
  constructor(...given) {
    super(...given);
    window.lines.push(this);
    this.addEventListener("open", () => {
      document.documentElement.dataset.opened = window.lines.length;
    });
  }
};"""
FOCUS = "document.activeElement.tagName"


def test_a_seat_says_what_went_wrong_and_keeps_the_focus(
    browser: Browser, addresses: tuple[str, str]
) -> None:
    """A wrong code is told until another one is tried; five end the line, and it begins anew. The
    focus goes along: from the code to the nodes, to the node, and stays there after an action.
    """
    wall_address, address = addresses
    wall, phone = browser.new_page(), browser.new_page(viewport=PHONE)
    try:
        wall.goto(wall_address)
        code = wall.locator("#head b").inner_text(timeout=SLOW)
        phone.add_init_script(LINES)
        phone.goto(address)
        for number in range(1, 6):
            phone.fill("#code", "AAAA AAAA")
            phone.press("#code", "Enter")
            words = "not the code. Look" if number < 5 else "not the code 5 times"
            expect(phone.locator("#wrong")).to_contain_text(words)
        expect(phone.locator("html[data-opened='2']")).to_have_count(1, timeout=SLOW)
        expect(phone.locator("#wrong")).to_contain_text("not the code 5 times")
        phone.fill("#code", code)
        phone.press("#code", "Enter")
        expect(phone.locator("#nodes h2")).to_be_focused()
        expect(phone.locator("#wrong")).to_have_text("")
        phone.keyboard.press("Tab")
        phone.keyboard.press("Enter")
        expect(phone.locator("#seen h2")).to_be_focused()
        wall.click(".kp-next")  # something arrives
        expect(phone.locator("#seen[data-step='1']")).to_be_visible(timeout=SLOW)
        while not phone.locator("#seen button").count():
            wall.click(".kp-next")
        phone.locator("#seen button").first.focus()
        phone.keyboard.press("Enter")
        expect(phone.locator("#seen")).to_contain_text("A receives")
        assert phone.evaluate(FOCUS) in ("H2", "BUTTON")
    finally:
        wall.close()
        phone.close()


IN_SIGHT = """(part) => {
  const { x, y, width, height } = document.querySelector(part).getBoundingClientRect();
  const [across, down] = [x + width / 2, y + height / 2];
  return down < innerHeight && Boolean(document.elementFromPoint(across, down)?.closest(part));
}"""


def test_the_wall_has_keys_comes_back_and_keeps_its_head(
    browser: Browser, addresses: tuple[str, str]
) -> None:
    """Keys work before anything was pressed; a line that is cut is tried again; what the room says
    stays there in large type; another key is told what it is.
    """
    wall_address, address = addresses
    wall, phone = browser.new_page(), browser.new_page(viewport=PHONE)
    try:
        wall.add_init_script(LINES)
        wall.goto(wall_address)
        code = wall.locator("#head b").inner_text(timeout=SLOW)
        sit(phone, address, code, "A")
        expect(wall.locator(".kp-next")).to_be_visible(timeout=SLOW)
        expect(wall.locator("#head button")).to_have_count(1, timeout=SLOW)
        wall.evaluate("document.querySelector('#head button').isTheSame = true")
        wall.keyboard.press("ArrowRight")
        expect(wall.locator(".kp-where")).to_have_text("1 / 1", timeout=SLOW)
        wall.evaluate("lines[0].close()")
        expect(wall.locator("#wrong")).to_contain_text("trying again")
        expect(wall.locator("#wrong")).to_have_text("", timeout=SLOW)
        wall.keyboard.press("ArrowRight")
        expect(wall.locator(".kp-where")).to_have_text("2 / 2", timeout=SLOW)
        assert wall.evaluate("document.querySelector('#head button').isTheSame")
        wall.keyboard.press("p")
        expect(wall.locator("#wall:fullscreen")).to_have_count(1)
        for part in ("#head b", "#head button", ".kp-next", ".kp-time"):
            wall.wait_for_function(IN_SIGHT, arg=part)
        wall.locator("#head button").focus()
        wall.keyboard.press("Enter")
        expect(phone.locator("#nodes")).to_be_visible()
        expect(wall.locator("#head ul")).to_be_focused()
        wall.keyboard.press("ArrowLeft")  # which nothing there takes
        expect(wall.locator(".kp-where")).to_have_text("1 / 2", timeout=SLOW)
        phone.goto(f"{address}projector#guessed")
        expect(phone.locator("#wrong")).to_contain_text("does not have the key")
    finally:
        wall.close()
        phone.close()
