#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=asan timeout=300
# Hostile volumes with right sums, through every verb, the packer, the library and a mount: each ends with a status of
# its own, writes nothing beside what it was told to, and says why it refuses. LENGTH says how many, SEED repeats a run,
# PARTS chooses among the functions below (by_kernel, mounts of the kernel, is only for a machine that may crash), and
# KINDS among the sound volumes (tests/lib/hostile.sh).
. "$DATASETFS_SOURCE/tests/lib/common.sh"
. "$LIB/hostile.sh"
need_fuse
need_command ssh-keygen setfattr

seed=${SEED:-$RANDOM}
say "seed $seed"
hostile_volumes
chmod go-w .
echo "alice $(cut -d' ' -f1,2 key.pub)" >signers
mkdir -p work/made work/mnt work/theirs addition
echo addition >addition/added
BEFORE=$(ls -A)
cd work
BUILD=$DATASETFS_BUILD/tests/library

# tries COMMAND…: it ends soon, by itself, and if it fails it says why
tries() {
    local rc=0
    timeout -k 5 120 "$@" >out 2>err </dev/null || rc=$?
    case $rc in
        0) [[ $1 != mkdatasetfs ]] || ACCEPTED=$((ACCEPTED + 1)) ;;
        1 | 2 | 3 | 32) [ -s err ] || [ -s out ] || fail "$SOUND $NUMBER seed $seed: no reason: $*" ;;
        *) fail "$SOUND $NUMBER seed $seed: status $rc: $*: $(tail -n 40 err)" ;;
    esac
    ! grep -q -- "--help'" err || fail "the wrong words: $*: $(cat err)"
    COUNT=$((COUNT + 1))
}

verbs() {
    tries datasetfsctl list --json "$VOLUME"
    tries datasetfsctl list --space "$VOLUME"
    tries datasetfsctl verify --trust "$PWD/../signers" "$VOLUME"
    tries datasetfsctl verify "$VOLUME"
    tries datasetfsctl scrub "$VOLUME"
    tries datasetfsctl ls -R "$VOLUME"
    tries datasetfsctl stat "$VOLUME" large
    tries datasetfsctl cat "$VOLUME" large sparse a/b/text1
    tries datasetfsctl extract -C made "$VOLUME" a large sparse link
    tries datasetfsctl describe "$VOLUME"
    tries datasetfsctl describe --diff one "$VOLUME" two
    tries datasetfsctl plan --workers 4 --gpus 8 --rate 100 "$VOLUME"
    tries datasetfsctl dump "$VOLUME"
    tries datasetfsctl member list "$VOLUME"
    tries datasetfsctl export tar "$VOLUME" "$LABEL" -
    tries datasetfsctl export erofs "$VOLUME" "$LABEL" made/erofs
    tries datasetfsctl export signatures "$VOLUME" "$LABEL"
}

library() {
    tries "$BUILD/library-tree" "$VOLUME" walk
    tries "$BUILD/library-tree" "$VOLUME" placed
    tries "$BUILD/library-way" "$VOLUME" sums
    tries "$BUILD/library-way" "$VOLUME" queue
}

# repairs: by copies on other members
repairs() {
    tries datasetfsctl scrub --repair "$VOLUME"
    tries datasetfsctl member replace --progress none "$VOLUME" 1 made/member
}

# changes: by verbs that write, and the packer
changes() {
    tries datasetfsctl sign "$VOLUME" "$LABEL" --key ../key
    tries datasetfsctl current "$VOLUME" "$LABEL"
    tries mkdatasetfs --label added "$VOLUME" ../addition
    tries datasetfsctl remove "$VOLUME" "$LABEL"
    tries datasetfsctl compact "$VOLUME"
}

# reads MOUNTPOINT: all of it, whatever fails
reads() {
    timeout -k 5 60 tar -C "$1" --ignore-failed-read --exclude=holes -cf - . >/dev/null 2>tar.err || true
    timeout -k 5 60 getfattr -R -d "$1" >/dev/null 2>&1 || true
    timeout -k 5 20 cat "$1"/.datasetfs/{version,versions.json,stats.json} >/dev/null 2>&1 || true
    timeout -k 5 20 ls -R "$1/.datasetfs/versions/$LABEL" >/dev/null 2>&1 || true
}

serves() {
    is_mounted mnt || ! kill -0 "$SERVES" 2>/dev/null
}

mounts() {
    local rc=0
    datasetfs -f -o nosupervisor "$VOLUME" mnt >daemon.out 2>&1 &
    SERVES=$!
    wait_for 60 serves || fail "$SOUND $NUMBER seed $seed: the mount hangs: $(cat daemon.out)"
    if is_mounted mnt; then
        reads mnt
        umount mnt || umount -l mnt
        MOUNTED=$((MOUNTED + 1))
    fi
    wait "$SERVES" || rc=$?
    case $rc in
        0 | 32) ;;
        *) fail "$SOUND $NUMBER seed $seed: the daemon ended with $rc: $(tail -n 40 daemon.out)" ;;
    esac
}

by_kernel() {
    tries datasetfs -o kernel "$VOLUME" theirs
    if is_mounted theirs; then
        reads theirs
        umount theirs
        KERNELS=$((KERNELS + 1))
    fi
}

at_exit umount -lq mnt theirs
MOUNTED=0 ACCEPTED=0 COUNT=0 KERNELS=0
each=$(($(length 7 140) / ${#SOUNDS[@]}))
for SOUND in "${SOUNDS[@]}"; do
    LABEL=v1
    [[ $SOUND != *@(versions|mirror|stale)* ]] || LABEL=two
    for ((NUMBER = 1; NUMBER <= each; NUMBER++)); do
        rm -rf made hostile
        mkdir made hostile
        "$DATASETFS_BUILD/tests/format/hostile" "$SOUND" "$seed" "$NUMBER" 1 hostile || fail "hostile $SOUND $NUMBER"
        VOLUME=$(printf '%s\n' hostile/* | paste -sd,)
        for part in ${PARTS:-verbs library mounts repairs changes}; do $part; done
    done
    assert_eq "beside what was to be written" "$(ls -A ..)" "$BEFORE"
    say "$SOUND: $each volumes"
done
echo "$COUNT commands, $MOUNTED mounts, $KERNELS by the kernel, $ACCEPTED took another version"
