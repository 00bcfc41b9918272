#!/bin/bash
# SPDX-License-Identifier: MIT
# One publisher at a time: the second is refused and told who holds the lock and since when, by file and by device. A
# publisher that was killed leaves nothing to clean.
. "$DATASETFS_SOURCE/tests/lib/common.sh"

mkdir source slow
echo content >source/file
head -c 60M /dev/urandom >slow/file

# refused PROCESS VOLUME: while somebody publishes
refused() {
    local who
    who="process $1 on $(hostname) since $(date -u +%Y-%m-%d)"
    assert_fails 1 "$who" mkdatasetfs --progress none "$2" source
    assert_fails 1 "another publisher has it" mkdatasetfs --progress none "$2" source
    assert_fails 1 "$who" datasetfsctl current "$2" v1
    assert_fails 1 "$who" datasetfsctl remove "$2" v1
}

# round VOLUME
round() {
    local before
    pack "$1" source
    before=$(datasetfsctl dump "$1" | sha256sum)
    mkdatasetfs --progress none --compress zstd:19 "$1" slow >publisher.out 2>&1 &
    local publisher=$!
    wait_for 60 recorded "$1" || fail "no publisher record: $(cat publisher.out)"
    kill -STOP $publisher
    recorded "$1" || fail "it was faster: make the source larger"
    refused $publisher "$1"
    kill -KILL $publisher
    wait $publisher || true

    # Nothing to clean: one line says what happened, and everything works.
    assert_eq "the dump" "$(datasetfsctl dump "$1" | sha256sum)" "$before"
    datasetfsctl verify "$1" >/dev/null || fail "verify after SIGKILL"
    mkdatasetfs --progress none --label next "$1" source >/dev/null 2>err || fail "publish after SIGKILL: $(cat err)"
    assert_contains "the warning" "$(cat err)" "a publisher did not finish: process $publisher on $(hostname)"
    mkdatasetfs --progress none --label last "$1" source >/dev/null 2>err || fail "publish: $(cat err)"
    assert_eq "a warning that is over" "$(cat err)" ""
    datasetfsctl verify "$1" >/dev/null || fail "verify at the end"
}

# recorded VOLUME: there is a publisher record
recorded() {
    [ "$(dd if="$1" bs=4096 skip=128 count=1 iflag=direct status=none | head -c 7 | tr -d '\0')" = DSFSPUB ]
}

round volume
[ "$(id -u)" = 0 ] && losetup -f >/dev/null 2>&1 || exit 0
truncate -s 200M disk
loop_device disk
round "$LOOP"
