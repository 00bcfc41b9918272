#!/bin/bash
# SPDX-License-Identifier: MIT
# With NOTIFY_SOCKET the daemon says READY=1, and only when the mount serves;
# then STOPPING=1 at its end, and not before.
. "$(dirname "$0")/../lib/common.sh"
need_fuse

mkdir source mnt
echo hello >source/file
pack volume source
cat >listen.py <<'END'
import os, socket, subprocess, sys, time
address = sys.argv[1]
name = b"\0" + address[1:].encode() if address.startswith("@") else address
listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
listener.bind(name)
listener.settimeout(300)


def message():
    """The next one that is no sign of life, which may come at any time."""
    text = "WATCHDOG=1"
    while text == "WATCHDOG=1":
        text = listener.recv(4096).decode()
    return text


daemon = subprocess.Popen(["datasetfs", "-f", "volume", "mnt"], env=dict(os.environ, NOTIFY_SOCKET=address))
try:
    lines = message().split("\n")
    if "READY=1" not in lines:
        sys.exit(f"fail: the first message is {lines}")
    if open("mnt/file").read() != "hello\n":
        sys.exit("fail: READY=1, but the mount does not serve")
    # A manager kills what says that it stops and does not: a mount that is in use must not say so.
    with open("mnt/file"):
        daemon.terminate()
        seen = message()
        if "busy" not in seen or "STOPPING=1" in seen:
            sys.exit(f"fail: the message of a busy mount is {seen!r}")
    subprocess.run(["umount", "mnt"], check=True)
    seen = message()
    if "STOPPING=1" not in seen:
        sys.exit(f"fail: the message at the end is {seen!r}")
    if daemon.wait(300) != 0:
        sys.exit(f"fail: status {daemon.returncode}")
    print("ready and stopping were told to", address)
finally:
    if daemon.poll() is None:
        daemon.kill()
END
python3 listen.py "$PWD/notify.socket" || fail "a socket by path"
python3 listen.py "@datasetfs-test-$$" || fail "an abstract socket"
# Nobody listens: no reason to fail.
NOTIFY_SOCKET=$PWD/nobody.socket datasetfs volume mnt || fail "a dead NOTIFY_SOCKET stops the mount"
umount mnt
wait_for 20 has_no_daemon mnt || fail "the daemon runs on"
