#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: smoke in=asan
# One publisher at a time: the second is refused and told who holds the lock and since when, by file and by device. A
# publisher that was killed leaves nothing to clean, on a volume with versions, instead of one, or in a new file.
. "$DATASETFS_SOURCE/tests/lib/common.sh"

mkdir source slow temporary fresh
export TMPDIR=$PWD/temporary
echo content >source/file
head -c 60M /dev/urandom >slow/file

# refused PROCESS VOLUME: while somebody publishes, since SINCE
refused() {
    local who
    who="process $1 on $(hostname) since $SINCE"
    assert_fails 1 "$who" mkdatasetfs --progress none "$2" source
    assert_fails 1 "another publisher is at work, try again when it has ended: $who" \
        mkdatasetfs --progress none "$2" source
    assert_fails 1 "$who" datasetfsctl current "$2" v1
    assert_fails 1 "$who" datasetfsctl remove "$2" v1
}

# start VOLUME RECORDED [OPTIONS…]: PUBLISHER, stopped while it fills the volume and has a record in the file
# RECORDED; SINCE is the day, or how it begins when it ended meanwhile
start() {
    SINCE=$(date -u +%Y-%m-%d)
    mkdatasetfs --progress none --compress zstd:19 "${@:3}" "$1" slow >publisher.out 2>&1 &
    PUBLISHER=$!
    wait_for 60 recorded "$2" || fail "no publisher record: $(cat publisher.out)"
    kill -STOP $PUBLISHER
    recorded "$2" || fail "it was faster: make the source larger"
    [ "$SINCE" = "$(date -u +%Y-%m-%d)" ] || SINCE=2
}

# kill_publisher: it has no chance to clean, and leaves nothing in the temporary directory
kill_publisher() {
    kill -KILL $PUBLISHER
    wait $PUBLISHER || true
    assert_eq "temporary files of a killed publisher" "$(find temporary -mindepth 1)" ""
}

# listed PROCESS VOLUME HOW: the lock says whether that one still works; that of a device may be unseen
listed() {
    local how=$3
    [ ! -b "$2" ] || [ "$how" = "at work" ] || how="at work or ended without finishing"
    assert_contains "list" "$(datasetfsctl list "$2" | grep '^publisher ')" "on $(hostname) since $SINCE"
    assert_contains "list" "$(datasetfsctl list "$2")" "process=$1, $how"
    assert_eq "list --json" "$(datasetfsctl list --json "$2" | json publisher.process)" "$1"
}

# reader_locks VOLUME: a lock of who may only read keeps nobody from a device; of a file, it is told who that is
reader_locks() {
    exec 9<"$1"
    flock 9
    if [ -b "$1" ]; then
        pack "$1" source --label locked
    else
        assert_fails 1 "a program that does not publish has it locked" mkdatasetfs --progress none "$1" source
        assert_fails 1 ": process $$ ('two-publishers.' of user $(id -u))" datasetfsctl current "$1" v1
    fi
    exec 9<&-
}

# elsewhere VOLUME WHO: another user in another mount namespace, who sees nothing but the file itself, is kept out, too
elsewhere() {
    local rc=0
    : >seen
    mkdir -p bin
    cp "$(command -v mkdatasetfs)" bin/
    chmod 666 "$1"
    chmod 755 . bin source
    # shellcheck disable=SC2016
    "$LIB/mount-namespace" sh -c 'mount --bind "$1" seen && exec setpriv --reuid 65534 --regid 65534 --clear-groups \
        bin/mkdatasetfs --progress none --temp-dir /tmp seen source' sh "$1" >out 2>err || rc=$?
    assert_eq "status of a publisher elsewhere: $(cat err)" $rc 1
    assert_contains "the line" "$(cat err)" "another publisher is at work, try again when it has ended: $2"
}

# not_mounted VOLUME: nor does the kernel mount a file while somebody publishes
not_mounted() {
    mkdir -p mnt
    assert_fails 32 "'$PWD/$1' is being changed, mount it when that is done" datasetfs -o kernel "$1" mnt
}

# round VOLUME
round() {
    local before publisher
    pack "$1" source
    before=$(datasetfsctl dump "$1" | sha256sum)
    start "$1" "$1"
    publisher=$PUBLISHER
    refused $publisher "$1"
    [ -b "$1" ] || ! can_mount || elsewhere "$1" "process $publisher on "
    [ -b "$1" ] || ! can_loop || ! (need_filesystem erofs) >/dev/null || not_mounted "$1"
    listed $publisher "$1" "at work"
    kill_publisher
    listed $publisher "$1" "ended without finishing"

    # Nothing to clean: one line says what happened, and everything works.
    assert_eq "the dump" "$(datasetfsctl dump "$1" | sha256sum)" "$before"
    datasetfsctl verify "$1" >/dev/null || fail "verify after SIGKILL"
    mkdatasetfs --progress none --label next "$1" source >/dev/null 2>err || fail "publish after SIGKILL: $(cat err)"
    assert_contains "the warning" "$(cat err)" "a publisher did not finish: process $publisher on $(hostname)"
    mkdatasetfs --progress none --label last "$1" source >/dev/null 2>err || fail "publish: $(cat err)"
    assert_eq "a warning that is over" "$(cat err)" ""
    assert_eq "list of a volume at rest" "$(datasetfsctl list "$1" | grep -c '^publisher ')" 0
    reader_locks "$1"
    datasetfsctl verify "$1" >/dev/null || fail "verify at the end"
}

# recorded VOLUME: there is a publisher record
recorded() {
    [ "$(dd if="$1" bs=4096 skip=128 count=1 iflag=direct status=none | head -c 7 | tr -d '\0')" = DSFSPUB ]
}

# filling PROCESS: it has written to a new file beside the volume
filling() {
    local file
    for file in "/proc/$1/fd/"*; do
        case $(readlink "$file") in
        "$PWD/fresh/"*deleted* | "$PWD/fresh/volume.new-"*) ! recorded "$file" || return 0 ;;
        esac
    done
    return 1
}

round volume

# A new file holds nothing but the beginning of a version: the next publisher starts it afresh.
start fresh/volume fresh/volume
kill_publisher
mkdatasetfs --progress none fresh/volume source >/dev/null 2>err || fail "publish into what is left: $(cat err)"
assert_contains "the warning" "$(cat err)" "a publisher did not finish: process $PUBLISHER on $(hostname)"
datasetfsctl verify fresh/volume >/dev/null || fail "verify of a volume that was begun twice"

# --format of a file fills another one, which has no name until it is whole.
before=$(hash_of fresh/volume)
mkdatasetfs --progress none --compress zstd:19 --format fresh/volume slow >publisher.out 2>&1 &
PUBLISHER=$!
wait_for 60 filling $PUBLISHER || fail "it does not fill another file: $(cat publisher.out)"
kill_publisher
assert_eq "the volume" "$(hash_of fresh/volume)" "$before"
assert_eq "what lies beside it" "$(ls fresh)" volume

can_loop || exit 0
truncate -s 200M disk
loop_device disk
round "$LOOP"
