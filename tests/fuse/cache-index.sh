#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon in=asan
# The mount option cache=: which folders it takes; indexes come from the copies in the folder and not from the volume,
# at mounts, switches and visits, and where a mount follows; a copy that is wrong in any way is made anew, and whatever
# happens to the folder, mounts serve the right bytes.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse

python3 "$LIB/small_files.py" source 7 300 2
pack volume source --label one
cp -r source second
echo "of the second version" >second/more
pack volume second --label two
datasetfsctl current volume one >/dev/null
cp volume whole
mkdir -m 700 cache
cache=$PWD/cache
uuid=$(datasetfsctl list --json volume | json uuid)

# index NUMBER FIELD: of a version's index on the volume
index() {
    datasetfsctl list --json whole | json "versions.$1.index.0.$2"
}
# erase NUMBER: what the volume has of that index
erase() {
    dd if=/dev/zero of=volume bs=4096 seek=$(($(index "$1" offset) / 4096)) count=$(($(index "$1" length) / 4096)) \
        conv=notrunc status=none
}
for number in 0 1; do
    dd if=whole of=index.$number bs=4096 skip=$(($(index $number offset) / 4096)) \
        count=$(($(index $number length) / 4096)) status=none
done
# copy NUMBER: the file in the folder
copy() {
    echo "cache/$uuid/index/$(hash_of "index.$1")"
}
# is_whole NUMBER: the copy is there, with the volume's bytes behind its head
is_whole() {
    tail -c +4097 "$(copy "$1")" | cmp -s - "index.$1"
}
# from VOLUME COPY: how many bytes of indexes the mount has loaded from where
from() {
    assert_eq "bytes of indexes from the volume" "$(stats mnt index_read_bytes)" "$1"
    assert_eq "bytes of indexes from copies" "$(stats mnt index_copy_bytes)" "$2"
}
one=$(index 0 length) two=$(index 1 length)
[ -f "$(dirname "$(copy 0)")" ] && fail "there is a folder already"

say "which folders it takes"
assert_fails 2 "mount option 'cache' needs a value" datasetfs -o cache= volume mnt
mkdir -p 'a,"b'
(cd 'a,"b' && assert_fails 2 "mount option 'cache=cache': the name of the working directory, '$PWD', has a comma and" \
    datasetfs -ocache=cache ../volume ../mnt)
assert_fails 2 "'kernel' cannot be combined with 'cache'" datasetfs -o "kernel,cache=$cache" volume mnt
assert_fails 2 "'cache' cannot be combined with 'verify=never'" datasetfs -o "cache=$cache,verify=never" volume mnt
mkdir -p mnt
# without FOLDER MESSAGE: the mount goes on without it, and says why
without() {
    : >daemon.log
    mount_volume volume mnt -o "cache=$PWD/$1,cache_size=80M"
    assert_contains "$1" "$(cat daemon.log)" "cache '$PWD/$1': $2"
    assert_contains "$1" "$(cat daemon.log)" "; the mount goes on without a cache"
    compare source mnt
    assert_eq "$1: what it may keep" "$(stats mnt local_cache_size)" 0
    assert_contains "$1" "$(datasetfsctl status mnt)" "keeps no contents, the daemon's log says why"
    unmount mnt
}
without none "there is no such folder: 'install -d -m 700 $PWD/none' makes it"
touch file && without file "it is not a folder, or it is a symbolic link"
ln -s cache link && without link "it is not a folder, or it is a symbolic link"
chmod 770 cache && without cache "it has the mode 0770, so others may write it"
chmod 702 cache && without cache "it has the mode 0702, so others may write it"
chmod 500 cache && without cache "it has the mode 0500, so its owner may not write it"
chmod 700 cache
echo "datasetfs cache 2" >cache/format && without cache "it has the format 2, this release knows 1"
echo "datasetfs cache 0" >cache/format && without cache "it has the format 0, this release knows 1"
echo "something else" >cache/format && touch cache/else
without cache "its file 'format' was not written by datasetfs, nor was 'else': name a folder that nothing else uses"
rm cache/else cache/format
for kind in "mkfifo" "mkdir" "ln -s $PWD/file"; do
    $kind cache/format
    case $kind in
        ln*) without cache "cannot open 'format': Too many levels of symbolic links" ;;
        *) without cache "'format' is no regular file: remove it" ;;
    esac
    rm -d cache/format
done
mount_volume volume fuse
FIRST=$DAEMON
without fuse "it lies on FUSE, expected a filesystem of a local drive"
DAEMON=$FIRST
unmount fuse
if is_root; then
    chown 65534 cache && without cache "it belongs to user 65534, expected user 0"
    chown 0 cache
fi
assert_eq "what these mounts left" "$(ls -A cache)" ""

say "damaged folders"
# renewed TEXT: what a power loss or a drive has left of the note
renewed() {
    printf "$1" >cache/format
    : >daemon.log
    mount_volume volume mnt -o "cache=$cache,cache_size=80M"
    assert_contains "note '$1'" "$(cat daemon.log)" \
        "cache '$cache': its file 'format' is damaged, as by a power loss, and is written anew"
    assert_eq "note" "$(cat cache/format)" "datasetfs cache 1"
    [ "$(stats mnt local_cache_size)" -gt 0 ] || fail "note '$1': nothing is kept"
    unmount mnt
}
mkdir cache/lost+found && touch cache/format.new
renewed ''
renewed 'datasetfs cache 1'
renewed 'something else\n'
# keeps_none NAME KIND MESSAGE: the mount goes on without contents
keeps_none() {
    rm -f cache/*/"$1"
    $2 "$(echo cache/*-*)/$1"
    : >daemon.log
    mount_volume volume mnt -o "cache=$cache,cache_size=80M"
    assert_contains "$1" "$(cat daemon.log)" "cache '$cache': $3, no contents are kept"
    compare source mnt
    assert_eq "$1: what it may keep" "$(stats mnt local_cache_size)" 0
    unmount mnt
    rm -d cache/*/"$1"
}
for name in lock data; do
    keeps_none $name mkfifo "'$name' is no regular file: remove it"
    keeps_none $name mkdir "cannot open '$name': Is a directory"
    keeps_none $name "ln -s $PWD/file" "cannot open '$name': Too many levels of symbolic links"
done
rm -rf cache/*
touch "cache/$uuid"
mount_volume volume mnt -o "cache=$cache"
wait_for 20 grep -q "cannot open the folder '$uuid': Not a directory, no contents are kept" daemon.log ||
    fail "a file in the place of the folder: $(cat daemon.log)"
compare source mnt
unmount mnt
rm -rf cache/*

say "mounts"
mount_volume volume mnt -o "cache=$cache"
from "$one" 0
wait_for 20 is_whole 0 || fail "no copy of the index: $(ls -R cache) $(cat daemon.log)"
assert_eq "rights" "$(stat -c %a "$(copy 0)")" 600
assert_eq "option" "$(stats mnt options.cache)" "$cache"
unmount mnt
mkdir a,b
for list in "-oexec,cache=../cache,noatime" '--options=exec,cache="../cache"'; do
    (cd a,b && datasetfs "$list" ../volume ../mnt)
    assert_eq "relative, in the background" "$(realpath "$(stats mnt options.cache)")" "$cache"
    datasetfsctl upgrade mnt >/dev/null
    assert_eq "the successor's" "$(stats mnt options.cache)" "$PWD/a,b/../cache"
    from 0 0
    fusermount3 -u mnt
done
mount_volume volume mnt -o "cache=$cache"
unmount mnt
erase 0
assert_fails 32 "index of version 'one': its SHA-256" datasetfs volume mnt
mount_volume volume mnt -o "cache=$cache"
from 0 "$one"
compare source mnt
datasetfs -o "cache=$cache" volume mnt 2>/dev/null && fail "a second mount on the first"

say "switches, visits and successors"
datasetfsctl switch mnt two
from "$two" "$one"
compare second mnt
wait_for 20 is_whole 1 || fail "no copy after a switch: $(cat daemon.log)"
unmount mnt
erase 1
mount_volume volume mnt -o "cache=$cache"
cat mnt/.datasetfs/versions/two/more >/dev/null
from 0 $((one + two))
kill_server mnt
compare source mnt
from 0 0
datasetfsctl switch mnt two
compare second mnt
unmount mnt
mount_volume volume mnt -o "cache=$cache"
kill_server mnt
datasetfsctl switch mnt two
from 0 "$two"
unmount mnt
cp whole volume

say "copies that are wrong"
# made_anew WHAT: a mount reads the volume, says why, and makes the copy anew
made_anew() {
    : >daemon.log
    mount_volume volume mnt -o "cache=$cache"
    from "$one" 0
    compare source mnt
    wait_for 20 is_whole 0 || fail "$1: the copy stays as it is: $(cat daemon.log)"
    [ -z "${2:-}" ] || grep -q "the copy of the index of version 'one' is not used: .*$2" daemon.log ||
        fail "$1: no line with '$2': $(cat daemon.log)"
    unmount mnt
}
spoil "$(copy 0)" $((4096 + one / 2)) && made_anew "a flipped byte" "its SHA-256 is not the one in the catalogue"
spoil "$(copy 0)" 0 && made_anew "a flipped byte in the head" "it does not begin as a copy"
spoil "$(copy 0)" 8 && made_anew "another format" "it has the format 254, this release knows 1"
truncate -s -4096 "$(copy 0)" && made_anew "a short one" "a file of $one bytes, expected $((one + 4096))"
truncate -s 0 "$(copy 0)" && made_anew "an empty one" "the volume ends after 0 of them"
cp "$(copy 1)" "$(copy 0)" && made_anew "another version's" "it is that of another index"
{ head -c 4096 "$(copy 0)"; head -c "$one" index.1; } >mixed
mv mixed "$(copy 0)" && made_anew "another version's bytes" "its SHA-256 is not the one in the catalogue"
rm "$(copy 0)" && mkfifo "$(copy 0)" && made_anew "a pipe" "is no regular file"
rm "$(copy 0)" && ln -s "$PWD/whole" "$(copy 0)" && made_anew "a link" "cannot open '"
cmp whole volume || fail "the volume changed"
rm "$(copy 0)" && made_anew "none"
rm "$(copy 0)" && echo left >"$(copy 0).new" && made_anew "what a killed process left"
assert_eq "what was begun" "$(find cache -name '*.new')" ""
rm "$(copy 0)" && mkdir "$(copy 0)"
: >daemon.log
mount_volume volume mnt -o "cache=$cache"
from "$one" 0
wait_for 20 grep -q "the index of version 'one' is not copied: cannot rename '" daemon.log ||
    fail "a folder in the place of the copy: $(cat daemon.log)"
unmount mnt
rmdir "$(copy 0)"

say "cache list and drop"
mount_volume volume mnt -o "cache=$cache"
datasetfsctl switch mnt two
unmount mnt
rm -rf cache/*/index/*
mount_volume volume mnt -o "cache=$cache,version=two"
cat mnt/.datasetfs/versions/one/1 >/dev/null
wait_for 20 is_whole 0 && wait_for 20 is_whole 1
unmount mnt
datasetfsctl cache list cache >list.txt
assert_eq "title" "$(head -n 1 list.txt | tr -s ' ')" "VOLUME VERSION COPY OF ITS SEQUENCE SIZE WRITTEN (UTC)"
grep -qE "^$uuid +one +index +1 +4[0-9.]+ KiB +20[0-9-]{8} [0-9:]{8}" list.txt || fail "list: $(cat list.txt)"
grep -qE "^$uuid +(one|two) +block checksums" list.txt || fail "list: $(cat list.txt)"
datasetfsctl cache list --json cache >list.json
assert_eq "volume" "$(json volumes.0.uuid list.json)" "$uuid"
python3 - "$(hash_of index.1)" "$two" <<'END' || fail "list --json: $(cat list.json)"
import json, sys
copies = json.load(open("list.json"))["volumes"][0]["copies"]
found, = [copy for copy in copies if copy["sha256"] == sys.argv[1]]
assert found["label"] == "two" and found["sequence"] == 2 and found["kind"] == "index", found
assert found["bytes"] == int(sys.argv[2]) + 4096, found
END
spoil "$(copy 1)" 0
datasetfsctl cache list cache | grep -q "damaged: the next mount of its version makes it anew" || fail "nothing damaged"
assert_eq "kind" "$(datasetfsctl cache list --json cache | python3 -c 'import json, sys
print([copy["kind"] for copy in json.load(sys.stdin)["volumes"][0]["copies"] if copy["label"] is None])')" "[None]"
spoil "$(copy 1)" 0
assert_fails 1 "cache 'cache' has nothing of version 'three'" datasetfsctl cache drop cache "$uuid" three
assert_fails 1 "has nothing of the volume 00000000-0000-4000-8000-000000000000" \
    datasetfsctl cache drop cache 00000000-0000-4000-8000-000000000000
assert_fails 2 "volume: " datasetfsctl cache drop cache volume
assert_fails 1 "cache 'none': there is no such folder" datasetfsctl cache list none
mkdir -m 700 later && echo "datasetfs cache 2" >later/format
assert_fails 1 "cache 'later': it has the format 2, this release knows 1" datasetfsctl cache drop later
before=$(find cache -type f | wc -l)
dropped=$(datasetfsctl cache drop --json cache "$uuid" two | json copies)
[ "$dropped" -ge 1 ] || fail "nothing of version two was dropped"
assert_eq "files left" "$(find cache -type f | wc -l)" $((before - dropped))
[ ! -e "$(copy 1)" ] && is_whole 0 || fail "the wrong ones were dropped: $(ls -R cache)"
touch "$(copy 1).new"
assert_contains "drop" "$(datasetfsctl cache drop cache)" " dropped, "
assert_eq "what is left" "$(ls -A cache)" format
assert_eq "what is left to list" "$(datasetfsctl cache list cache)" ""
for verb in list drop; do
    assert_fails 1 "cache 'source': it is no folder of the mount option cache=, or none that a mount has used: it has \
no file 'format'" datasetfsctl cache $verb source
done
if is_root; then
    chmod 744 cache
    assert_fails 1 "cache 'cache': cannot open 'format': Permission denied" as_user datasetfsctl cache list cache
    chmod 700 cache
fi
mount_volume volume mnt -o "cache=$cache"
from "$one" 0
wait_for 20 is_whole 0
datasetfsctl cache drop cache >/dev/null
datasetfsctl switch mnt two
wait_for 20 is_whole 1 || fail "no copy after a drop under a mount: $(cat daemon.log)"
compare second mnt
unmount mnt
mount_volume volume mnt -o "cache=$cache,version=two"
wait_for 20 is_whole 1
datasetfsctl switch mnt one && wait_for 20 is_whole 0
unmount mnt

say "what is gone from the volume"
cp whole volume
old=$(copy 1)
touch "$old.new" "$(dirname "$old")/notes"
datasetfsctl remove volume two >/dev/null
mount_volume volume mnt -o "cache=$cache"
wait_for 20 is_whole 0 || fail "no copy: $(cat daemon.log)"
is_gone() { [ ! -e "$old" ] && [ ! -e "$old.new" ]; }
wait_for 20 is_gone || fail "what is gone from the volume stays: $(ls -R cache)"
[ -e "$(dirname "$old")/notes" ] || fail "files of others: $(ls -R cache)"
unmount mnt
cp whole volume

say "the folder goes away under a mount"
rm -rf cache/*
mount_volume volume mnt -o "cache=$cache"
wait_for 20 is_whole 0
wait_for 20 rm -rf cache # while the daemon may still add the block checksums
: >daemon.log
datasetfsctl switch mnt two
compare second mnt
from $((one + two)) 0
wait_for 20 grep -q "cache '$cache': the index of version 'two' is not copied: cannot " daemon.log ||
    fail "no line about the folder: $(cat daemon.log)"
kill_server mnt
datasetfsctl switch mnt one
compare source mnt
unmount mnt
mkdir -m 700 cache

say "an upgrade keeps the folder"
mount_volume volume mnt -o "cache=$cache"
wait_for 20 is_whole 0
datasetfsctl upgrade mnt >upgrade.out 2>&1 || fail "upgrade: $(cat upgrade.out)"
datasetfsctl switch mnt two
wait_for 20 is_whole 1 || fail "no copy after the upgrade: $(cat daemon.log)"
unmount mnt
erase 0
mount_volume volume mnt -o "cache=$cache"
from 0 "$one"
unmount mnt
cp whole volume

say "a mount that follows"
# follows LABEL: it has come to that version
follows() {
    [ "$(json label mnt/.datasetfs/version)" = "$1" ]
}
# kept: the versions whose indexes are in the folder
kept() {
    datasetfsctl cache list --json cache | python3 -c 'import json, sys
copies = json.load(sys.stdin)["volumes"][0]["copies"]
print(*sorted(copy["label"] for copy in copies if copy["kind"] == "index"))'
}
# keeps LABELS
keeps() {
    wait_for 20 eval "[ \"\$(kept)\" = '$*' ]" || fail "copies of $(kept), expected of $*: $(cat daemon.log)"
}
rm -rf cache/*
: >daemon.log
mount_volume volume mnt -o "cache=$cache,follow=current:1"
keeps one
datasetfsctl current volume two >/dev/null
wait_for 30 follows two || fail "it does not follow: $(cat daemon.log)"
compare second mnt
keeps one two
from $((one + two)) 0
datasetfsctl remove volume one >/dev/null
echo "of the third version" >second/more
pack volume second --label three
three=$(datasetfsctl list --json volume | json versions.1.index.0.length)
wait_for 30 follows three || fail "it does not follow: $(cat daemon.log)"
keeps three two
from $((one + two + three)) 0
datasetfsctl remove volume two >/dev/null
FIRST=$DAEMON
mount_volume volume other -o "cache=$cache,follow=current:1"
assert_eq "bytes of indexes from the volume, of a second mount" "$(stats other index_read_bytes)" 0
compare second other
keeps three
unmount other
DAEMON=$FIRST
unmount mnt
mount_volume volume mnt -o "cache=$cache,follow=current:1"
from 0 "$three"
unmount mnt
cp whole volume

say "filesystems that are full or read-only"
need_mount
mkdir small
mount -t tmpfs -o size=12M,mode=700 tmpfs small
at_exit umount "$PWD/small"
head -c $(((11 << 20) - 65536)) /dev/zero >small/filler
mount_volume volume mnt -o "cache=$PWD/small"
wait_for 20 grep -q "cache '$PWD/small': the index of version 'one' is not copied: it needs .* a tenth" daemon.log ||
    fail "no line about the room: $(df small) $(cat daemon.log)"
compare source mnt
unmount mnt
assert_eq "what was begun" "$(find small/*-* -type f | wc -l)" 0
head -c 64M /dev/zero >small/filler 2>/dev/null || true
# keeps_none MESSAGE: it serves, and says why it keeps no contents
keeps_none() {
    : >daemon.log
    mount_volume volume mnt -o "cache=$PWD/small"
    assert_contains "log" "$(cat daemon.log)" "cache '$PWD/small': $1, no contents are kept"
    compare source mnt
    unmount mnt
}
keeps_none "it may take only 0 bytes and needs 4.00 MiB"
rm -r small/*
head -c 64M /dev/zero >small/filler 2>/dev/null || true
keeps_none "cannot write 'format.new': No space left on device"
rm small/f*
mount -o remount,ro "$PWD/small"
keeps_none "cannot open 'format.new': Read-only file system"
