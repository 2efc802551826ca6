#!/bin/sh
# Lets the real systemd-networkd of CONSUMERS read the files in FOLDER, in namespaces of its own,
# and prints its log. Run by tests/netdata_networkd.rs; needs root.
set -eu

if [ "${3:-}" != inside ]; then
    exec unshare --net --mount --pid --fork --kill-child "$0" "$1" "$2" inside
fi
consumers=$1
folder=$2
users=$(mktemp)
grep -v '^systemd-network:' /etc/passwd > "$users"
echo 'systemd-network:x:998:998::/:/usr/sbin/nologin' >> "$users"
chmod 644 "$users"
mount --bind "$users" /etc/passwd
rm "$users"
mount -t tmpfs tmpfs /run
mkdir -p /run/systemd/network /run/systemd/netif
chown 998:998 /run/systemd/netif
cp "$folder"/* /run/systemd/network
chmod 644 /run/systemd/network/*

export SYSTEMD_LOG_LEVEL=debug SYSTEMD_LOG_TARGET=console
export LD_LIBRARY_PATH="$consumers/libsystemd-shared/usr/lib/x86_64-linux-gnu/systemd:$consumers/systemd/usr/lib/x86_64-linux-gnu/systemd"
"$consumers/systemd/lib/systemd/systemd-networkd" > /run/log 2>&1 &
# It reads everything before it enumerates links.
for _ in $(seq 100); do
    grep -q 'Enumeration completed' /run/log && break
    sleep 0.1
done
cat /run/log
