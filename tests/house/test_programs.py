"""Finding, and bringing, the programs that only the tests need."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import core, programs


def program(folder: Path, name: str, text: str) -> Path:
    """A program that is on PATH."""
    path = folder / name
    path.write_text(text)
    path.chmod(0o755)
    return path


def all_there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What stands for all programs that every test needs."""
    here = program(folder, "it", "")
    monkeypatch.setattr(programs, "dot", lambda: here)
    monkeypatch.setattr(programs, "chromium", lambda: here)
    monkeypatch.setattr(core, "fetched", lambda: here)
    return here


def test_a_named_browser_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """KIT_CHROMIUM names the browser to drive."""
    named = program(tmp_path, "my-browser", "#!/bin/sh\n")
    monkeypatch.setenv("KIT_CHROMIUM", str(named))
    assert programs.chromium() == named


def test_a_named_browser_that_is_absent_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """A KIT_CHROMIUM that does not exist is not silently replaced by another browser."""
    monkeypatch.setenv("KIT_CHROMIUM", "/no/such/browser")
    assert programs.chromium() is None


def test_a_notice_about_snap_is_no_browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ubuntu's stand-in, which only points to snap, is passed over."""
    program(tmp_path, "chromium-browser", "#!/bin/sh\necho 'snap install chromium'\nexit 1\n")
    real = program(tmp_path, "google-chrome", "\x7fELF")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("KIT_CHROMIUM", raising=False)
    assert programs.chromium() == real


def test_a_firefox_is_brought_for_its_own_tests_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """``make test-firefox`` asks for one, no other command; KIT_FIREFOX names another."""
    here = all_there(tmp_path, monkeypatch)
    monkeypatch.setattr(programs, "_distribution", lambda: "debian")
    asked: list[list[str]] = []
    monkeypatch.setattr(programs, "_apt", asked.append)
    monkeypatch.setenv("KIT_FIREFOX", "/no/such/browser")
    assert programs.bring() == []
    assert programs.bring(wants_firefox=True) == ["a Firefox"]
    monkeypatch.setenv("KIT_FIREFOX", str(here))
    assert programs.firefox() == here
    assert programs.bring(wants_firefox=True) == []
    assert asked == [[], ["firefox-esr"], []]


def test_what_could_not_be_brought_is_said_loudly(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A missing program is named in capitals, with what to do; the tests go on to say the rest."""
    monkeypatch.setattr(programs, "bring", lambda wants_firefox: ["a Chromium"])
    assert programs.main() == 0
    said = capsys.readouterr().out
    assert "*** COULD NOT BRING A CHROMIUM ***" in said
    assert "KIT_CHROMIUM" in said


def test_nothing_is_brought_where_everything_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """With both programs there, neither apt nor Playwright is asked."""
    all_there(tmp_path, monkeypatch)
    monkeypatch.setattr("tools.programs.subprocess.run", None)
    assert programs.bring() == []
