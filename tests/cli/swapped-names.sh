#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: plain once timeout=300
# Root changes a volume on a path that somebody else may change, who swaps names between any two calls: what lies where
# he may not write stays as it is, with its owner and mode, and so does a device that the command did not open first.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_root
need_command cc
cc -shared -fPIC -O1 -D_GNU_SOURCE "$LIB/swapped_names.c" -o swap.so || fail "swapped_names.c does not compile"

mkdir source broken mine theirs
echo content >source/file
mkfifo broken/fifo
chmod 700 mine

# lay: what every run starts from. mine is root's folder, theirs is the other one's.
lay() {
    rm -rf mine/* theirs/*
    echo secret >mine/secret
    cp mine/secret mine/volume.new-mkdatasetfs
    cp first theirs/volume
    chmod 600 mine/*
    chown -R 65534:65534 theirs
    chmod 644 theirs/volume
    ln -s volume theirs/link
    mkdir theirs/empty
    "$@"
}

# kept: what is root's, with everything that could change
kept() {
    stat -c '%n %i %F %a %u:%g %s %t:%T' mine/*
    cat mine/* | sha256sum
}

# swapped A B COMMAND…: with A and B swapped before each of its calls in turn, before every fourth from a random one on
# without --all; sets runs, failed and done
apart=$(length 4 1) least=$((10 / apart))
seed=${SEED:-$RANDOM}
say "SEED=$seed"
RANDOM=$seed
swapped() {
    local n before total=1
    runs=0 failed=0 done=0
    : >reasons
    for ((n = 0; n <= total; n += n ? apart : 1 + RANDOM % apart)); do
        lay "$prepare"
        before=$(kept)
        rc=0
        env SWAP_AT=$n SWAP_A="$PWD/theirs/$1" SWAP_B="$PWD/theirs/$2" SWAP_COUNT="$PWD/count" \
            LD_PRELOAD="$PWD/swap.so" "${@:3}" >out 2>err || rc=$?
        assert_eq "what is root's, $1 and $2 swapped before call $n (status $rc, $(cat err))" "$(kept)" "$before"
        assert_eq "what is left, $1 and $2 swapped before call $n" "$(find theirs -name '*.new-*')" ""
        [ $n != 0 ] || total=$(cat count)
        case $rc in
        0) done=$((done + 1)) ;;
        1) failed=$((failed + 1)); cat err >>reasons ;;
        *) fail "call $n: status $rc: $(cat err)" ;;
        esac
        runs=$((runs + 1))
    done
    [ "$total" -gt 5 ] || fail "$total calls were counted"
    say "$1 and $2, ${*:3}: $runs runs, $failed refused"
}
pack=(mkdatasetfs --progress none)
pack first source
before=$(hash_of first)

say "a symlink to a file"
evil() { ln -s ../mine/secret theirs/evil; }
prepare=evil
swapped link evil "${pack[@]}" --format theirs/link source
[ $done -gt $least ] || fail "$failed refused, $done done"

say "a folder: a file in it is replaced, and a new one is removed again"
evil() {
    ln -s ../mine theirs/evil
    mkdir theirs/way
    cp --preserve=all theirs/volume theirs/way/secret
    cp --preserve=all theirs/volume theirs/way/volume
}
swapped way evil "${pack[@]}" --format theirs/way/secret source
[ $done -gt $least ] || fail "$failed refused, $done done"
swapped empty evil "${pack[@]}" --special=fail theirs/empty/secret broken
[ $done = 0 ] || fail "a FIFO was packed"

say "the file itself, and its successor"
evil() { cp --preserve=all theirs/volume theirs/evil; }
swapped volume evil "${pack[@]}" --format theirs/link source
[ $failed -gt $least ] || fail "only $failed refused"
assert_contains "the reason" "$(cat reasons)" "another file took the name 'volume' meanwhile"

say "a change of the catalogue, with another volume in the place of the one that was looked at"
mkdatasetfs --progress none --label v2 first source >/dev/null || fail "a second version"
evil() {
    cp first mine/secret
    ln -s ../mine/secret theirs/evil
}
lay evil
was=$(hash_of mine/secret)
env SWAP_A="$PWD/theirs/link" SWAP_B="$PWD/theirs/evil" SWAP_OPENED="$PWD/theirs/volume" LD_PRELOAD="$PWD/swap.so" \
    datasetfsctl remove theirs/link v1 >out 2>err || fail "remove: $(cat err)"
assert_eq "where the link leads to" "$(readlink theirs/link)" ../mine/secret
assert_eq "root's volume" "$(hash_of mine/secret)" "$was"
assert_eq "versions of the other one's" "$(datasetfsctl list --json theirs/volume | json versions.0.label)" v2

if can_mount; then
    say "a filesystem without direct I/O, where open(2) makes the file and then fails"
    at_exit umount theirs
    evil() {
        umount theirs 2>/dev/null || true
        mount -t ramfs none theirs
        ln -s "$PWD/mine/secret" theirs/evil
    }
    evil
    if dd if=/dev/zero of=theirs/volume bs=4096 count=1 oflag=direct status=none 2>/dev/null; then
        say "direct I/O works here: not tried"
    else
        swapped volume evil "${pack[@]}" theirs/volume source
    fi
    umount theirs
fi

if can_loop; then
    say "a device that holds something, one that holds nothing, and a file"
    truncate -s 4M full blank
    mkfs.ext4 -q -F full
    cp full full.before
    loop_device full
    full=$LOOP
    loop_device blank
    blank=$LOOP
    cp -a "$blank" node && blockdev --flushbufs node || skip "device nodes cannot be made, used or flushed here"
    for pair in full:blank blank:full volume:full full:volume; do
        evil() {
            truncate -s 0 blank
            truncate -s 4M blank
            blockdev --flushbufs "$blank"
            cp -a "$full" mine/full
            cp -a "$blank" mine/blank
            rm theirs/link
            ln -s ../mine/blank theirs/blank
            ln -s ../mine/full theirs/full
            mv theirs/volume theirs/file
            ln -s file theirs/volume
        }
        kept() {
            stat -c '%n %i %F %a %u:%g %t:%T' mine/*
            cmp "$full" full.before
        }
        swapped ${pair%:*} ${pair#*:} "${pack[@]}" --format theirs/${pair%:*} source
        [ $failed -gt 0 ] || [ $apart -gt 1 ] || fail "nothing was refused"
        [ $done -gt $least ] || [ ${pair%:*} = full ] || fail "only $done were done"
    done
else
    say "no loop devices: devices were not tried"
fi
