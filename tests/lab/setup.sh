#!/bin/bash
# Prepares a machine with Debian 12 for the simulated rack and for every test: Debian packages,
# sushy-emulator in a Python environment, a certificate and a password file for it. Idempotent.
# Usage, as root: setup.sh DIR
set -euo pipefail
dir=$(mkdir -p "${1:?usage: setup.sh DIR}" && cd "$1" && pwd)

packages=(
  # the rack
  qemu-system-x86 qemu-utils qemu-block-extra ovmf openipmi iproute2 curl openssl jq
  libvirt-daemon-system libvirt-clients libvirt-daemon-driver-qemu
  procps perl-base util-linux
  # what pip builds libvirt-python from, and cargo its crates
  libvirt-dev pkg-config gcc libc6-dev python3-venv python3-dev
  # the boot image
  xorriso mtools dosfstools zstd cpio kmod
  # programs that tests compare with
  ipmitool genisoimage isolinux syslinux-common nginx-light wrk xz-utils dnsmasq-base binutils
)
missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok' || missing+=("$package")
done
if ((${#missing[@]})); then
  apt-get update -q
  # The rack starts its own libvirtd in its own namespaces: none of the machine's is wanted.
  RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive \
    apt-get install -q -y --no-install-recommends "${missing[@]}"
fi

if [ ! -e "$dir/python/ready" ]; then
  python3 -m venv --clear "$dir/python"
  # The binding must not be newer than the library.
  "$dir/python/bin/pip" install -q 'sushy-tools>=2.2,<3' bcrypt \
    "libvirt-python==$(pkg-config --modversion libvirt)"
  touch "$dir/python/ready"
fi

if [ ! -s "$dir/bmc.pem" ]; then
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650 \
    -subj /CN=rack-bmc -addext 'subjectAltName=IP:172.31.0.5' \
    -keyout "$dir/bmc.key" -out "$dir/bmc.pem" 2>/dev/null
fi
# The rack's own password, worth nothing outside it.
printf 'rack-secret-5\n' >"$dir/password"
"$dir/python/bin/python" - "$dir" <<'PY'
import bcrypt, pathlib, sys
dir = pathlib.Path(sys.argv[1])
password = (dir / "password").read_bytes().strip()
hashed = bcrypt.hashpw(password, bcrypt.gensalt(4)).decode()
(dir / "htpasswd").write_text(f"admin:{hashed}\n")
(dir / "curlrc").write_text(f'user = "admin:{password.decode()}"\n')
PY
