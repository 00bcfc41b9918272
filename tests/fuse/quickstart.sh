#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: once plain timeout=400
# contrib/quickstart: builds, packs, mounts, compares, ends with "identical"; twice; its refusals.
. "$(dirname "$0")/../lib/common.sh"
need_fuse

unset XDG_DATA_HOME
if command -v ccache >/dev/null; then # as tests/run compiles
    export CC="ccache gcc" CCACHE_BASEDIR=$DATASETFS_SOURCE CCACHE_NOHASHDIR=1
fi
quickstart=$DATASETFS_SOURCE/contrib/quickstart
tree random source --seed 12 --files 80
mkdir "a mountpoint"
at_exit umount "$PWD/a mountpoint"
at_exit umount "$PWD/.local/share/datasetfs/mnt"

"$quickstart" source >first.log 2>&1 || { cat first.log; fail "the first run"; }
assert_eq "the last line" "$(tail -n 1 first.log)" identical
assert_contains "what it does" "$(cat first.log)" "compiles what has changed since the last build"
# The other builds of the tests do not optimize as far, so they do not warn of all that a release warns of.
grep -A3 "warning:" "$DATASETFS_SOURCE/build/quickstart.log" && fail "a release does not build without warnings"
mnt=$PWD/.local/share/datasetfs/mnt
compare source "$mnt"
echo more >source/new-file
"$quickstart" source >second.log 2>&1 || { cat second.log; fail "the second run"; }
assert_eq "the last line" "$(tail -n 1 second.log)" identical
assert_eq "the new file" "$(cat "$mnt/new-file")" more
umount "$mnt"

# The commands that it names work.
"$quickstart" source "a mountpoint" >third.log 2>&1 || { cat third.log; fail "with a mountpoint"; }
command=$(sed -n 's/^what it serves   //p' third.log)
[ -x "${command%% *}" ] || fail "no such program: ${command%% *}"
compare source "a mountpoint"

# show-progress shows how far a command of minutes is, and ends with the status of the command.
cat >slow <<'END'
echo "[1/2] half"
until grep -q '1/2. half' shown; do sleep 0.05; done
exit 3
END
if (need_pty) >/dev/null; then
    rc=0
    timeout 60 script -qec "'$DATASETFS_SOURCE/contrib/show-progress' slow.log sh slow" /dev/null >shown </dev/null ||
        rc=$?
    assert_eq "status of what was shown" $rc 3
fi

# Busy, full of something, missing, or misspelt: a reason.
exec 7<"a mountpoint/new-file"
rc=0
"$quickstart" source "a mountpoint" >busy.log 2>&1 || rc=$?
exec 7<&-
[ $rc != 0 ] || fail "a busy mountpoint was replaced"
assert_contains "the reason" "$(cat busy.log)" "is in use"
umount "a mountpoint"
: >"a mountpoint/something"
rc=0
"$quickstart" source "a mountpoint" >full.log 2>&1 || rc=$?
[ $rc != 0 ] || fail "it mounts over content"
assert_contains "the reason" "$(cat full.log)" "not empty"
assert_fails 1 "missing" "$quickstart" missing
assert_fails 2 "'--frobnicate'" "$quickstart" --frobnicate
"$quickstart" --help >help.log || fail "--help"

# quickstart names what a container lacks in one line, before it does anything.
[ "$(id -u)" = 0 ] || exit 0
export HOME=$PWD/untouched
mkdir untouched
assert_fails 1 "this container needs '--cap-add SYS_ADMIN" \
    setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin "$quickstart" source
cat >inside.sh <<'END'
. "$LIB/common.sh"
mount --bind -o nodev /dev/fuse /dev/fuse
assert_fails 1 "/dev/fuse cannot be opened" "$1" source
: >nothing
mount --bind nothing /dev/fuse
assert_fails 1 "no /dev/fuse" "$1" source
END
"$LIB/mount-namespace" bash inside.sh "$quickstart" || fail "without /dev/fuse"
[ -z "$(ls -A untouched)" ] || fail "left behind: $(find untouched)"
