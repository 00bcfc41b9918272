#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: ring once timeout=300
# The limits of the unit datasetfs@ let the daemon do all that it does: what strace sees of mounts over each channel, of
# versions side by side, of a switch, of a volume that is opened again, of a cache and of every end is compared with the
# unit. And the other way round: a call that it makes and the unit would refuse is found.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse
need_loop
need_command strace systemd-analyze blockdev

unit=$DATASETFS_BUILD/contrib/datasetfs@.service
mkdir -p source/folder mnt
for i in {0..9}; do head -c $((100000 * i)) /dev/urandom >source/folder/f$i; done
setfattr -n user.colour -v red source/folder/f1 2>/dev/null || say "no attributes here"
truncate -s 64M first
pack first source --label v1
echo more >source/more
pack first source --label v2
cp first second
cp first kept
loop_device first
one=$LOOP
loop_device second
two=$LOOP

# strace follows the program that mount_volume starts from its first call on; its process id stays the daemon's.
mkdir bin
cat >bin/datasetfs <<END
#!/bin/sh
exec strace -D -f -qq -s 200 -e signal=none -o "\$TRACE" "$(command -v datasetfs)" "\$@"
END
chmod +x bin/datasetfs
PATH=$PWD/bin:$PATH
(TRACE=$PWD/none strace -D -f -qq -o none true) 2>strace.err || skip "strace cannot trace here: $(cat strace.err)"

use() {
    diff -r source mnt || fail "trees differ"
    ls -l mnt/folder mnt/.datasetfs/versions/v1 >/dev/null
    cat mnt/.datasetfs/versions/v1/folder/f3 mnt/.datasetfs/stats.json >/dev/null
    getfattr -d mnt/folder/f1 >/dev/null 2>&1 || true
    dd if=mnt/folder/f9 of=/dev/null iflag=direct bs=1M status=none
    ! touch mnt/new 2>/dev/null || fail "it can be written to"
    datasetfsctl switch --prepare mnt v1 >/dev/null
    datasetfsctl switch mnt v1 >/dev/null
    datasetfsctl switch mnt v2 >/dev/null
    as_user cat mnt/folder/f1 >/dev/null
    as_user "$(command -v datasetfsctl)" switch mnt v1 2>refused.err && fail "anybody may switch"
    datasetfsctl list mnt >/dev/null
}

# open_again: the volume goes away and comes back as another device
open_again() {
    : >first
    blockdev --flushbufs "$one"
    ! cat mnt/folder/f8 >/dev/null 2>&1 || fail "it is still there"
    ln -sfn "$two" link
    wait_for 60 cmp source/folder/f8 mnt/folder/f8 || fail "not opened again: $(cat daemon.log)"
    cp kept first
    blockdev --flushbufs "$one"
    ln -sfn "$one" link
}

ln -s "$one" link
export NOTIFY_SOCKET=$PWD/nobody
options=("channel=dev,follow=current:1" "channel=dev,io=threads,notify=entries")
if ring_switch Y; then options+=(channel=ring); fi
for i in "${!options[@]}"; do
    export TRACE=$PWD/trace$i
    mount_volume "$PWD/link" mnt -o "${options[i]},on_error=eio"
    use
    open_again
    exec 7<mnt/folder/f1
    kill -TERM "$DAEMON"
    wait_for 20 grep -q "busy and stays mounted" daemon.log || fail "no word of being busy: $(cat daemon.log)"
    kill -TERM "$DAEMON"
    exec 7<&-
    wait_end "$DAEMON" || fail "the daemon runs on"
    : >daemon.log
    say "${options[i]}: $(sed -nE 's/^[0-9]+ +([a-z0-9_]+)\(.*/\1/p' "$TRACE" | sort -u | wc -l) system calls"
done
say "a cache"
export TRACE=$PWD/trace-cache
install -d -m 700 cache
mount_volume "$PWD/link" mnt -o "channel=dev,cache=$PWD/cache,cache_size=40M"
cat mnt/folder/f? | cmp - <(cat source/folder/f?) || fail "trees differ"
wait_for 20 eval '[ "$(stats mnt local_cache_fills)" -gt 0 ]' || fail "nothing is kept: $(cat daemon.log)"
unmount mnt
python3 "$LIB/unit_allows.py" "$unit" trace* >refused || fail "the unit refuses: $(cat refused)"

# Each rule finds something.
cat >evil <<'END'
1 chroot("/") = 0
1 socket(AF_INET, SOCK_STREAM, 0) = 3
1 mmap(NULL, 4096, PROT_READ|PROT_WRITE|PROT_EXEC, MAP_PRIVATE, -1, 0) = 0
1 openat(AT_FDCWD, "/dev/mem", O_RDWR) = 3
END
python3 "$LIB/unit_allows.py" "$unit" evil >refused 2>/dev/null && fail "the unit allows everything"
assert_eq "refused" "$(wc -l <refused)" 3
