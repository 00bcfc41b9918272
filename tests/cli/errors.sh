#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=asan
# Failures name what failed: one line, status 1, a new volume removed.
. "$(dirname "$0")/../lib/common.sh"

mkdir source
echo x >source/file

assert_fails 1 "'missing'" mkdatasetfs --progress none volume missing
assert_fails 1 "'source/file'" mkdatasetfs --progress none volume source/file
assert_fails 1 "nowhere/volume" mkdatasetfs --progress none nowhere/volume source
assert_fails 1 "'source'" mkdatasetfs --progress none source source
[ ! -e volume ] || fail "a failed pack left a volume"

# A mount's own folder, whatever it is in the source and however it comes in.
for make in mkdir touch mkfifo 'ln -s nowhere'; do
    mkdir taken
    (cd taken && $make .datasetfs)
    reason="the source has '.datasetfs' at its top, a name that a mount uses itself: skip it with --exclude /.datasetfs"
    assert_fails 1 "$reason" mkdatasetfs --progress none volume taken
    assert_fails 1 "$reason" mkdatasetfs --progress none --include .datasetfs --exclude '*' volume taken
    echo .datasetfs >list
    assert_fails 1 "$reason" mkdatasetfs --progress none --from-list list volume taken
    [ ! -e volume ] || fail "a failed pack left a volume"
    pack volume taken --exclude /.datasetfs --allow-empty
    rm -r volume taken
done
mkdir -p taken/.datasetfs
touch taken/.datasetfs/version
echo .datasetfs/version >list
assert_fails 1 "$reason" mkdatasetfs --progress none --from-list list volume taken
pack volume source --label earlier
assert_fails 1 "$reason" mkdatasetfs --progress none --trust-mtime volume taken
rm volume

# A volume inside its own source is not packed into itself.
assert_fails 1 "the volume itself lies in the source" mkdatasetfs --progress none source/volume source
[ ! -e source/volume ] || fail "a failed pack left a volume"

pack volume source --label one
before=$(hash_of volume)
assert_fails 1 "volume 'volume' has a version 'one' already: give another --label, or none for the next number" \
    mkdatasetfs --progress none --label one volume source
assert_eq "the volume" "$(hash_of volume)" "$before"

assert_fails 1 "missing" datasetfsctl list missing
assert_fails 1 "'two'" datasetfsctl dump volume two
assert_fails 1 "nothing/here" datasetfsctl stat volume nothing/here
assert_fails 2 "missing" datasetfsctl verify missing
assert_fails 1 "source" datasetfsctl status source
head -c 2000000 /dev/zero >zeros
assert_fails 1 "zeros" datasetfsctl list zeros
assert_fails 2 "zeros" datasetfsctl verify zeros

# A full stdout is a failure, not silence.
# assert_full STATUS COMMAND…
assert_full() {
    local status=$1 rc=0
    shift
    "$@" >/dev/full 2>full.err || rc=$?
    assert_eq "status with a full disk behind stdout: $*" $rc "$status"
    assert_contains "the reason: $*" "$(cat full.err)" "cannot write to standard output: No space left"
    assert_eq "lines: $*" "$(wc -l <full.err)" 1
}
for program in datasetfs mkdatasetfs datasetfsctl; do
    assert_full 1 $program --help
    assert_full 1 $program --version
done
ln -s "$(command -v datasetfs)" mount.datasetfs
assert_full 2 ./mount.datasetfs --help
for verb in list "list --json" dump "compact -n"; do
    # shellcheck disable=SC2086
    assert_full 1 datasetfsctl $verb volume
done
assert_full 1 datasetfsctl list --help
assert_full 1 datasetfsctl nvme --help
assert_full 1 datasetfsctl nvme list --json
assert_full 1 datasetfsctl stat --json volume file
assert_full 2 datasetfsctl verify --json volume

# After a publish it is one as well, and the line says that the version is there.
for options in "" --json; do
    exits 1 mkdatasetfs --progress none $options --label "full$options" volume source >/dev/full 2>full.err
    assert_contains "the line" "$(cat full.err)" \
        "the version is published, but its summary is not complete: cannot write to"
    assert_contains "the reason" "$(cat full.err)" "No space left"
    assert_eq "lines" "$(wc -l <full.err)" 1
    datasetfsctl dump volume "full$options" >/dev/null || fail "the version is not published"
done
exits 1 mkdatasetfs --progress none --dry-run volume source >/dev/full 2>full.err
! grep published full.err || fail "a rehearsal publishes nothing"

# A name that would look like another one: "holiday-gpj.exe" with the end turned round is seen as "holiday-exe.jpg".
mkdir odd
touch odd/$'holiday-\u202egpj.exe'
pack odd.volume odd
assert_contains "the name in text" "$(datasetfsctl stat odd.volume $'holiday-\u202egpj.exe')" \
    'holiday-\xe2\x80\xaegpj.exe'
assert_contains "the name in JSON" "$(datasetfsctl stat --json odd.volume $'holiday-\u202egpj.exe')" \
    'holiday-\u202egpj.exe'
assert_fails 1 'holiday-\xe2\x80\xaegpj' datasetfsctl stat odd.volume $'holiday-\u202egpj'
