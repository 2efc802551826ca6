#!/bin/sh
# Makes a Python environment with sushy-emulator for tests/redfish_sushy.rs, and prints its path:
#   LEASELESS_SUSHY=$(tests/sushy/setup.sh [DIRECTORY]) cargo test --test redfish_sushy
# The directory is outside of git; a second run changes nothing.
set -eu
dir=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/leaseless/sushy}
if [ ! -x "$dir/bin/sushy-emulator" ]; then
    python3 -m venv "$dir" >&2
    "$dir/bin/pip" install --quiet 'sushy-tools==2.2.0' >&2
fi
echo "$dir"
