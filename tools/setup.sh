#!/bin/sh
# Sets up .venv/ in this checkout: finds a Python, makes the environment, installs requirements.lock
# and the kit itself. A second run with nothing changed ends in a moment. `PYTHON=` names a Python.
set -u
cd "$(dirname "$0")/.." || exit 1
unset PIP_USER PIP_TARGET PIP_PREFIX PYTHONHOME PYTHONPATH

venv=.venv
stamp=$venv/kit-setup-stamp
log=$venv/setup.log
wanted=${PYTHON:-}

say() { printf 'set-up: %s\n' "$*"; }
fail() {
    printf 'set-up: %s\n' "$*" >&2
    exit 1
}

# Through a link to the environment of another checkout, that one would get the kit of this one.
[ -L "$venv" ] && fail "$venv is a link, perhaps to the environment of another checkout:" \
    "remove the link, and this checkout gets one of its own"

# --- nothing to do? ------------------------------------------------------------------------------
fingerprint=$({ pwd -P; cat requirements.lock pyproject.toml tools/setup.sh; } | cksum)
if [ -z "$wanted" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$fingerprint" ] &&
    "$venv/bin/python" -c '' 2>/dev/null; then
    say "up to date ($venv)"
    exit 0
fi
begun=$(date +%s)

# --- 1. a Python ---------------------------------------------------------------------------------
# A name on PATH may be a shim that does not run, or a Debian Python without venv: so each is tried.
probe='import sys; print("%d.%d" % sys.version_info[:2]); import venv, ensurepip'
python='' version='' without_venv='' unsupported=''
for candidate in ${wanted:-python3.11 python3.12 python3.13 python3 python}; do
    command -v "$candidate" >/dev/null 2>&1 || continue
    found=$("$candidate" -c "$probe" 2>/dev/null)
    status=$?
    case $found in
    3.11 | 3.12 | 3.13)
        if [ $status -eq 0 ]; then
            python=$candidate version=$found
            break
        fi
        without_venv=${without_venv:-$found}
        ;;
    ?*) unsupported="$unsupported $candidate is $found;" ;;
    esac
done
if [ -z "$python" ]; then
    [ -n "$without_venv" ] && fail "Python $without_venv here has no venv module:" \
        "install it (Debian, Ubuntu: sudo apt-get install python$without_venv-venv)," \
        "or name another Python: make PYTHON=/path/to/python3.12"
    [ -n "$wanted" ] && [ -z "$unsupported" ] && fail "PYTHON=$wanted does not run:" \
        "it must name a Python 3.11, 3.12 or 3.13"
    fail "no supported Python:${unsupported:- none found on PATH;} needed is 3.11, 3.12 or 3.13;" \
        "install one, or name it: make PYTHON=/path/to/python3.12"
fi
say "[1/4] Python $version ($(command -v "$python"))"

# --- 2. the environment --------------------------------------------------------------------------
here=$("$venv/bin/python" -c 'import sys, pip; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)
case $here in
3.11 | 3.12 | 3.13) [ -z "$wanted" ] || [ "$here" = "$version" ] || here='' ;;
*) here='' ;;
esac
if [ -n "$here" ]; then
    say "[2/4] virtual environment $venv is there (Python $here)"
else
    say "[2/4] making the virtual environment $venv"
    "$python" -m venv --clear "$venv" || fail "could not make $venv with $python (see above)"
fi
rm -f "$stamp"

# --- 3. packages ---------------------------------------------------------------------------------
packages=$(grep -c '^[a-z0-9].*==' requirements.lock)

# Runs pip, keeps all it says in the log, shows a line now and then, and turns a failure into one
# line. Byte code is left to the first import, which needs a small part of it.
pip_install() {
    {
        "$venv/bin/python" -m pip --disable-pip-version-check --no-input install \
            --no-compile --progress-bar off --no-color --retries "${PIP_RETRIES:-2}" "$@" </dev/null
        echo $? >"$venv/pip-status"
    } 2>&1 | tee -a "$log" | awk -v all="$packages" '
        /^(Collecting|Processing|Requirement already satisfied)/ {
            n++
            if (n % 20 == 0 && all > 0) {
                sub(/^(Collecting|Processing|Requirement already satisfied:) /, "")
                sub(/[ =].*/, ""); sub(/.*\//, ""); sub(/-[0-9].*/, "")
                printf "set-up:       %d of %d (%s)\n", n, all, $0
            }
        }
        /Building wheel.* for pyspark.*started/ { print "set-up:       building pyspark (about 20 s)" }
        /^Installing collected/ && all > 0 { print "set-up:       unpacking" }
        { fflush() }'
    [ "$(cat "$venv/pip-status")" = 0 ] && return
    network='NewConnectionError|NameResolutionError|ConnectTimeoutError|ProxyError|ReadTimeoutError'
    network="$network|Failed to establish a new connection|Connection refused|Network is unreachable"
    if grep -q -E "$network" "$log"; then
        fail "no network: pip cannot reach its package index; what is already here is kept," \
            "so connect and run the same command again (pip's own words: $log)"
    fi
    fail "pip failed: $(grep -E '^ *(ERROR|error)' "$log" | head -n 1) (all of it: $log)"
}

: >"$log"
say "[3/4] installing $packages packages (about 660 MB the first time, one to three minutes)"
# The build tools first, so that pyspark, which comes as source, is built with the pinned ones.
awk '/^[a-z0-9]/ { keep = $0 ~ /^(editables|hatchling|packaging|pathspec|pluggy|setuptools|tomlkit|trove-classifiers|wheel)==/ }
     keep' requirements.lock >"$venv/build-tools.lock"
shown=$packages packages=0
pip_install --require-hashes --no-deps -r "$venv/build-tools.lock"
packages=$shown
pip_install --require-hashes --no-build-isolation -r requirements.lock

# --- 4. the kit ----------------------------------------------------------------------------------
say "[4/4] the kit itself, from this checkout"
packages=0
pip_install --no-deps --no-build-isolation --editable .
"$venv/bin/python" -c 'import kit, jupyterlab, ipywidgets, msgspec, numpy' ||
    fail "the packages are installed but do not import (see above)"
printf '%s\n' "$fingerprint" >"$stamp"
say "done in $(($(date +%s) - begun)) s"
