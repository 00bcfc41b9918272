#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=gcc,asan
# datasetfsctl status says with which options a mount serves, those that were given and the others.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse

mkdir source && echo content >source/file
pack volume source --label v1

# options: of the mount, in JSON
options() {
    datasetfsctl status --json mnt | python3 -c 'import json, sys
for item in json.load(sys.stdin)["stats"]["options"].items(): print(*item, sep="=")'
}

say "defaults"
mount_volume volume mnt -o channel=dev,io=auto
options >found
cat >expected <<'END'
version=
digest=
verify=always
io=auto
channel=dev
workers=0
readahead=16777216
prefetch=268435456
on_error=wait
deadline=300
control_group=
direct_group=
follow=0
notify=auto
versions=True
allow_other=OTHER
exec=True
suid=False
END
sed -i "s/OTHER/$([ "$(id -u)" = 0 ] && echo True || echo False)/" expected
cmp found expected || fail "$(diff found expected)"
unmount mnt

say "given ones"
digest=$(datasetfsctl list --json volume | json versions.0.digest)
mount_volume volume mnt -o "version=v1,digest=$digest,verify=never,io=threads,channel=dev,workers=3,readahead=4M" \
    -o prefetch=off,on_error=eio,deadline=77,control_group=4343,direct_group=0,notify=entries \
    -o noversions,noexec
options | grep -v '^allow_other=' >found
cat >expected <<END
version=v1
digest=$digest
verify=never
io=threads
channel=dev
workers=3
readahead=4194304
prefetch=0
on_error=eio
deadline=77
control_group=4343
direct_group=0
follow=0
notify=entries
versions=False
exec=False
suid=False
END
cmp found expected || fail "$(diff found expected)"

say "as text"
datasetfsctl status mnt >text
awk '/^options$/ { on = 1; next } /^counters$/ { on = 0 } on { $1 = $1; print }' text >lines
assert_eq "readahead" "$(grep '^readahead' lines)" "readahead 4194304 (4.00 MiB)"
assert_eq "verify" "$(grep '^verify' lines)" "verify never"
assert_eq "lines" "$(wc -l <lines)" 18
unmount mnt
mount_volume volume mnt -o follow=current:60
assert_eq "follow" "$(options | grep '^follow=')" follow=60
! grep -q 'options\.' text || fail "the options are among the counters"
unmount mnt
