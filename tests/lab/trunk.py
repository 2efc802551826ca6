"""The management end of VLAN 42, for kernels without 8021q.

Two TAP devices: `trunk`, a bridge port that carries tagged frames, and `vlan42`, where the same
frames stand untagged. Whatever comes in on one goes out on the other.
"""

import fcntl
import select
import os
import struct

TUNSETIFF = 0x400454CA
IFF_TAP, IFF_NO_PI = 0x0002, 0x1000
TAG = struct.pack("!HH", 0x8100, 42)


def tap(name):
    fd = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TAP | IFF_NO_PI))
    return fd


def send(fd, frame):
    try:
        os.write(fd, frame)
    except OSError:
        pass  # The device is not up yet.


trunk, vlan = tap("trunk"), tap("vlan42")
while True:
    for fd in select.select([trunk, vlan], [], [])[0]:
        frame = os.read(fd, 65536)
        if fd == vlan:
            send(trunk, frame[:12] + TAG + frame[12:])
        elif frame[12:16] == TAG:
            send(vlan, frame[:12] + frame[16:])
