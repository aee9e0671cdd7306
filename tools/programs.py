"""What only the tests need: a Chromium, Graphviz's ``dot``, the Python of the site.

``make lab`` needs none of them. Run as a script, this brings what is missing where it can: Debian's
packages through apt (as root or by ``sudo -n``), else Playwright's own Chromium; and says
loudly what it could not bring.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:  # behind what is there: tests judge copies of the kit
    sys.path.append(str(ROOT))

from kit.errors import KitError  # noqa: E402  # as below
from tools import core  # noqa: E402  # run as a script, the root is not on the path

NAMES = (
    # The same browser without windows, which no test needs: it takes a quarter less of a processor.
    "chromium-headless-shell",
    *("chromium", "chromium-browser", "google-chrome-stable", "google-chrome"),
)
FIREFOXES = ("firefox-esr", "firefox")
MAC_CHROME = Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome")


def chromium() -> Path | None:
    """Find a browser that Playwright can drive: KIT_CHROMIUM, one on PATH, or Playwright's own."""
    named = os.environ.get("KIT_CHROMIUM")
    if named:
        return Path(named) if Path(named).exists() else None
    for name in NAMES:
        found = shutil.which(name)
        # Ubuntu's /usr/bin/chromium-browser is a notice that sends people to snap.
        if found and not _is_snap_notice(Path(found)):
            return Path(found)
    return MAC_CHROME if MAC_CHROME.exists() else _playwright_chromium()


def firefox() -> Path | None:
    """Find a Firefox: KIT_FIREFOX, or one on PATH."""
    named = os.environ.get("KIT_FIREFOX")
    if named:
        return Path(named) if Path(named).exists() else None
    found = (Path(path) for name in FIREFOXES if (path := shutil.which(name)))
    return next((path for path in found if not _is_snap_notice(path)), None)


def dot() -> Path | None:
    """Find Graphviz's layout program."""
    found = shutil.which("dot")
    return Path(found) if found else None


def _is_snap_notice(path: Path) -> bool:
    text = path.read_bytes()[:4000]
    return text.startswith(b"#!") and b"snap" in text and b"/usr/lib/chromium" not in text


def _playwright_chromium() -> Path | None:
    try:
        from playwright.sync_api import sync_playwright  # noqa: PLC0415  # only where nothing else is
    except ImportError:
        return None
    with sync_playwright() as playwright:
        path = Path(playwright.chromium.executable_path)
    return path if path.exists() else None


def _distribution() -> str:
    try:
        lines = Path("/etc/os-release").read_text(encoding="utf-8").splitlines()
    except OSError:
        return sys.platform
    return next((line[3:].strip('"') for line in lines if line.startswith("ID=")), "linux")


def _apt(packages: list[str]) -> None:
    """Install Debian packages when that needs no password; otherwise leave things as they are."""
    if not packages or not shutil.which("apt-get"):
        return
    as_root = [] if os.geteuid() == 0 else ["sudo", "-n"]
    if as_root and (
        not shutil.which("sudo")
        or subprocess.run(["sudo", "-n", "true"], check=False, capture_output=True).returncode
    ):
        return
    print(f"programs: installing {' '.join(packages)} by apt", flush=True)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update", "-qq"], ["install", "-y", "-qq", "--no-install-recommends"]):
        tail = packages if command[0] == "install" else []
        subprocess.run(
            [*as_root, "apt-get", *command, *tail],
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env=environment,
        )


def bring(wants_firefox: bool = False) -> list[str]:
    """Bring what is missing, and return the names of what is still missing."""
    wanted = [] if dot() else ["graphviz"]
    if wants_firefox and firefox() is None and _distribution() == "debian":
        wanted.append("firefox-esr")
    # Ubuntu's archive has no Chromium but a pointer to snap, which a browser test cannot drive.
    if chromium() is None and _distribution() == "debian":
        wanted += ["chromium-headless-shell", "fonts-dejavu-core"]
    _apt(wanted)
    if chromium() is None:
        print("programs: asking Playwright for its own Chromium", flush=True)
        dependencies = ["--with-deps"] if os.name == "posix" and os.geteuid() == 0 else []
        subprocess.run(
            [sys.executable, "-m", "playwright", "install", *dependencies, "chromium"],
            check=False,
            stdin=subprocess.DEVNULL,
        )
    if core.fetched() is None:
        print("programs: fetching the Python of the site", flush=True)
        for one in core.FILES:
            try:
                core.fetch(one)
            except KitError as error:
                print(f"programs: {error}")
    found = {
        "a Chromium": chromium(),
        "Graphviz's dot": dot(),
        "the Python of the site": core.fetched(),
        **({"a Firefox": firefox()} if wants_firefox else {}),
    }
    return [name for name, path in found.items() if path is None]


def main() -> int:
    """Bring the programs; never fails, since the tests themselves say what they miss."""
    for name in bring("firefox" in sys.argv[1:]):
        print(
            f"programs: *** COULD NOT BRING {name.upper()} ***  The tests that need it will say so."
            " Install it yourself, or set KIT_CHROMIUM to a browser's path."
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
