#!/bin/sh
# Writes requirements.lock: exact versions with hashes for Linux and macOS, Python 3.11 to 3.13.
# The file names no index: it installs from whichever one the machine's pip is set up for.
set -eu
cd "$(dirname "$0")/.."
.venv/bin/python -m pip install --quiet --disable-pip-version-check 'uv>=0.13'
# Without --upgrade the versions already in the file are kept where they still fit.
.venv/bin/python -m uv pip compile pyproject.toml \
    --extra test --extra build \
    --universal --python-version 3.11 --generate-hashes --fork-strategy fewest \
    --no-header --output-file requirements.lock --quiet "$@"
# Every package is for both systems (tool.uv.environments); only narrower markers are worth reading.
{
    echo "# Every package of the kit, its tests and its build, by exact version and hash."
    echo "# Made by tools/lock.sh (make lock) for Linux and macOS, Python 3.11 to 3.13."
    echo "# Install with: pip install --require-hashes -r requirements.lock"
    sed -e "s/ ; sys_platform == 'darwin' or sys_platform == 'linux' / /" \
        -e '/^# \(Every package\|Made by\|Install with\)/d' requirements.lock
} > requirements.lock.new
mv requirements.lock.new requirements.lock
