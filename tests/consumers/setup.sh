#!/bin/sh
# Puts the real consumers of network data into DIRECTORY, for tests/netdata_consumers.rs:
# cloud-init (Debian's package, unpacked and never installed: it would want to run at boot),
# glean, Ironic's wheel for its JSON schema, and systemd-networkd, unpacked too. Then: LEASELESS_CONSUMERS=DIRECTORY cargo test
set -eu

[ $# -eq 1 ] || { echo "usage: $0 DIRECTORY" >&2; exit 64; }
mkdir -p "$1"
directory=$(cd "$1" && pwd)
[ -e "$directory/complete" ] && exit 0

python3 -m venv "$directory/venv"
pip="$directory/venv/bin/pip --quiet --disable-pip-version-check"
$pip install glean==1.25.1 jsonschema==4.23.0 \
    configobj==5.0.9 jinja2==3.1.6 jsonpatch==1.33 oauthlib==3.2.2 pyyaml==6.0.2 requests==2.32.3
# The schema alone is wanted, and not the hundred packages that Ironic needs to run.
$pip install --no-deps ironic==39.0.0

cd "$directory"
apt-get -qq download cloud-init systemd libsystemd-shared
for package in *.deb; do
    dpkg -x "$package" "${package%%_*}"
    rm "$package"
done
touch complete
