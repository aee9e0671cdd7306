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
        wall.click("#head button")
        expect(phone.locator("#nodes")).to_be_visible()
    finally:
        wall.close()
        phone.close()
