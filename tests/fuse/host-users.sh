#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: plain once in=none timeout=1800
# A container with a user namespace, whose runtime wants an idmapped copy of its volume, as that of a pod with
# 'hostUsers: false' does: crun of the next Debian release starts it on a mount with the option idmap, and on no other.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
. "$DATASETFS_SOURCE/tests/lib/fresh_root.sh"
. "$DATASETFS_SOURCE/tests/lib/machine.sh"
need_root
need_fuse
need_command debootstrap ip nsenter pivot_root busybox python3
need_space 1500
root=$PWD/root
uri=$(fresh_sources | awk -v release="$(fresh_release)" '$3 == release { print $2; exit }')
# The one of Debian 12 knows no idmapped mounts.
debootstrap --variant=minbase --include=crun trixie "$root" "$uri" >debootstrap.log 2>&1 ||
    skip "debootstrap makes no root with crun here: $(tail -n 1 debootstrap.log)"
mkdir -p source "$root"/mnt/{without,with} "$root"/bundle/rootfs/{bin,data,proc,dev}
echo all >source/all
echo mine >source/mine
chmod 600 source/mine
chown 1000:1000 source/mine
pack volume source
cp "$(command -v busybox)" "$root/bundle/rootfs/bin"
for name in sh cat stat; do ln -s busybox "$root/bundle/rootfs/bin/$name"; done
mount_volume volume "$root/mnt/without"
mount_volume volume "$root/mnt/with" -o idmap
# bundle MOUNT: a container of user 1000 with it at /data; its root is no one of the machine
bundle() {
    python3 - "$1" >"$root/bundle/config.json" <<'END_PYTHON'
import json, sys
ids = [{"containerID": 0, "hostID": 100000, "size": 65536}]
data = {"destination": "/data", "type": "bind", "source": f"/mnt/{sys.argv[1]}", "options": ["bind", "ro", "idmap"]}
print(json.dumps({
    "ociVersion": "1.0.2", "root": {"path": "rootfs", "readonly": True},
    "process": {"user": {"uid": 1000, "gid": 1000}, "cwd": "/", "env": ["PATH=/bin"], "args": [
        "sh", "-c", "cd /data && cat all mine && stat -c %u:%g all mine && cat .datasetfs/version"]},
    "mounts": [{"destination": "/proc", "type": "proc", "source": "proc"},
               {"destination": "/dev", "type": "tmpfs", "source": "tmpfs"}, data],
    "linux": {"namespaces": [{"type": kind} for kind in ("pid", "mount", "user", "ipc", "uts")],
              "uidMappings": ids, "gidMappings": ids}}))
END_PYTHON
}
machine_begin "$root"
# crun refuses both versions of control groups beside each other.
! machine mountpoint -q /sys/fs/cgroup/unified || machine umount --lazy /sys/fs/cgroup/unified
run() { machine sh -c 'cd /bundle && exec crun --cgroup-manager=disabled run "$0"' "$1"; }
bundle without
! run without >said 2>&1 || fail "a mount without the option can be idmapped: $(cat said)"
say "without: $(cat said)"
bundle with
run with >said 2>&1 || fail "crun: $(cat said)"
assert_eq "in the container" "$(head -n 4 said)" "all
mine
0:0
1000:1000"
assert_contains "version" "$(tail -n +5 said)" '"label": "v1"'
