#!/bin/bash
# Builds the static agent, and the boot image with it, where either is older than its sources.
# Usage: image.sh DIR; the packages that it is made of stay in DIR/packages
set -euo pipefail
dir=$(mkdir -p "${1:?usage: image.sh DIR}" && cd "$1" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
target=x86_64-unknown-linux-gnu
agent=${CARGO_TARGET_DIR:-target}/$target/agent/leaseless-agent

RUSTFLAGS='-C target-feature=+crt-static' cargo build --profile agent --no-default-features \
  --bin leaseless-agent --target "$target"
if [ ! -s "$dir/manifest.json" ] ||
  [ -n "$(find "$agent" images -type f -newer "$dir/manifest.json")" ]; then
  images/build.sh --agent "$agent" --out "$dir" --cache "$dir/packages"
fi
