#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon in=asan
# A folder of a mount that is mounted elsewhere alone, as a container gets it: libdatasetfs reads it past
# the mount and through it, as its version was when the folder was bound, also where the mount's root is not seen.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse
need_root
need_mount
chmod 755 .
export PATH=$DATASETFS_BUILD/tests/library:$PATH

mkdir -p source/a source/sub/cat/deep source/sub/dog source/sub/void source/z t whole
echo far >source/a/far.jpg
echo root >source/root.jpg
for name in sub/one.jpg sub/cat/1.jpg sub/cat/deep/2.jpg sub/dog/1.jpg z/1.jpg; do echo "$name" >source/$name; done
ln source/a/far.jpg source/sub/cat/0.jpg      # their first names are outside
ln source/root.jpg source/sub/dog/zero.jpg
ln source/sub/one.jpg source/sub/dog/one.jpg
ln -s ../cat/1.jpg source/sub/dog/link.jpg
ln -s ../../root.jpg source/sub/dog/out.jpg
pack volume source --label v1
echo other >source/sub/cat/1.jpg
pack volume source --label v2
datasetfsctl current volume v1 >/dev/null
mount_volume volume mnt
library-way mnt sums | sed -n 's|^sub/||p' | sort >expected
assert_eq "files of the folder" "$(wc -l <expected)" 7
mount --bind mnt/sub t
at_exit umount t

# seen WAY WHERE: its files, and what the calls about names say, are those of the mount's folder
seen() {
    WAY=$1 library-way "$2" sums | sort >"$1.sums" || fail "$1 $2: sums"
    cmp expected "$1.sums" || { diff expected "$1.sums"; fail "$1 $2"; }
    WAY=$1 library-tree "$2" walk >"$1.walk" || fail "$1 $2: walk"
    printf '%s\0' dog/link.jpg dog/out.jpg .. cat/../../root.jpg ./cat/1.jpg absent |
        WAY=$1 library-tree "$2" lookup >"$1.lookup" 2>&1
    for folder in "" cat cat/deep dog void; do
        WAY=$1 library-tree "$2" list "$folder"
    done >"$1.list" || fail "$1 $2: list"
}
same_ways() {
    seen direct "$1"
    seen mount "$1"
    for what in walk lookup list; do
        cmp direct.$what mount.$what || { diff direct.$what mount.$what; fail "$1: $what"; }
        [ -s direct.$what ] || fail "$1: $what says nothing"
    done
    assert_eq "'..'" "$(grep -c EXDEV direct.lookup)" 3
}
same_ways t
WAY=direct library-tree t range cat >direct.range
WAY=mount library-tree t range cat >mount.range
cmp direct.range mount.range || { cat direct.range mount.range; fail "range"; }
for way in direct mount; do
    WAY=$way VERSION=v1 library-way t sums | sort | cmp - expected || fail "$way: by its label"
    for version in v2 absent; do
        WAY=$way VERSION=$version assert_fails 1 \
            "'t' is a folder of version 'v1', mounted without the mount's root: version '$version' cannot" \
            library-way t sums
    done
done
as_user library-way t sums | sort | cmp - expected || fail "as another user"
say "both ways, and names that lead out of the folder"

# A handle stays with the folder's version; the mount goes on to another one, and other servers.
coproc session { library-way t session; }
end_process_at_exit $!
ask() {
    local line
    echo "$1" >&"${session[1]}"
    read -r -t 60 line <&"${session[0]}" || fail "'$1' has no answer"
    assert_eq "$1" "$line" "$2"
}
ask "contents cat/1.jpg" "14 bytes"
datasetfsctl switch mnt v2 >/dev/null
ask refresh 0
ask "contents cat/1.jpg" "14 bytes"
assert_eq "the mount" "$(cat mnt/sub/cat/1.jpg)" other
same_ways t
kill_server mnt
ask refresh 0
ask "contents cat/1.jpg" "14 bytes"
same_ways t
say "after a switch, and by another server"

# In a container: other namespaces, with the folder alone.
"$LIB/mount-namespace" unshare -n bash -c '
    umount -l t && mount --bind mnt/.datasetfs/versions/v1/sub t && umount -l mnt && [ ! -e mnt/.datasetfs ] || exit 9
    for way in "" mount; do
        env ${way:+WAY=$way} library-way t sums | sort | cmp - expected || exit 1
    done' || fail "in a container"
say "where the mount's root is not seen"

mkdir plain
assert_fails 1 "EINVAL: 'plain' is not on a datasetfs mount" library-way plain sums
mount --bind mnt/.datasetfs whole
at_exit umount whole
assert_fails 1 "EINVAL: 'whole' is not on a datasetfs mount" library-way whole sums
