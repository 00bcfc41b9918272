#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: plain timeout=600
# Volumes of four members, with the Nth read, write or flush of any of them failing: one line, the volume holds what it
# held, new files are gone, and the next publish succeeds. --format over files that are there: what is left of it when
# the packer is killed between two of them, or one cannot be renamed.
. "$DATASETFS_SOURCE/tests/lib/common.sh"

mkdir tree
for i in $(seq 0 9); do head -c $((i * 2000)) /dev/urandom >"tree/f$i"; done
head -c 1200000 /dev/urandom >tree/large

. "$LIB/faults.sh"
of_members a b c d
for protection in none mirror:2; do
    say "protection $protection"
    rm -f base.vol.*
    pack "$(named base.vol)" tree --label one --segment-size 1M --protect $protection
    head -c 1200000 /dev/urandom >tree/large
    faults_of '^mkdatasetfs: .' "version 'two'" mkdatasetfs --progress none -j2 --label two "$(named work.vol)" tree
    every flush 1
    every write 1
    every read 12
    every grow 1
done

say "new files"
# fresh KIND N: packs to files that are not there, with that call failing
fresh() {
    rm -f new.*
    rc=0
    env FAULT_KIND="$1" FAULT_AT="$2" FAULT_COUNT="$PWD/count" FAULT_VOLUME="$(named "$PWD/new")" \
        LD_PRELOAD="$PWD/fault.so" mkdatasetfs --progress none --protect mirror:2 "$(named new)" tree >out 2>err ||
        rc=$?
}
for kind in flush write read directory; do
    fresh $kind 0
    [ $rc = 0 ] || fail "counting run: $(cat err)"
    total=$(cat count) failed=0
    turns "$total" 1
    for n in "${TURNS[@]}"; do
        fresh $kind "$n"
        if [ $rc = 0 ]; then
            clean "$(named new)" "$kind $n"
            continue
        fi
        failed=$((failed + 1))
        assert_eq "status with $kind $n failing" $rc 1
        assert_eq "lines with $kind $n failing: $(cat err)" "$(wc -l <err)" 1
        assert_eq "what is left with $kind $n failing" "$(echo new*)" "new*"
    done
    noticed $failed $kind "$total"
    say "$kind: $total calls, $failed failures reported"
done

# uuid_of NAME: of the volume that this is a member of
uuid_of() {
    datasetfsctl list --json "$1" | json uuid
}

# A volume of one member and one of two become one of four.
# former: they are there, and nothing else
former() {
    rm -f work.vol*
    mkdatasetfs --progress none work.vol.a tree >/dev/null 2>&1 || fail "pack"
    mkdatasetfs --progress none work.vol.b,work.vol.c tree >/dev/null 2>&1 || fail "pack"
    echo something >work.vol.d
}
afresh=(env LD_PRELOAD="$PWD/fault.so" mkdatasetfs --progress none --format --force --label fresh
    "$(named work.vol)" tree)

say "--format with calls failing"
former
before=$(contents work.vol)
for kind in flush write read directory; do
    env FAULT_KIND=$kind FAULT_COUNT="$PWD/count" FAULT_OTHER=1 FAULT_VOLUME=/ "${afresh[@]}" >out 2>err ||
        fail "counting run: $(cat err)"
    total=$(cat count) failed=0
    former
    before=$(contents work.vol)
    turns "$total" 3
    for n in "${TURNS[@]}"; do
        rc=0
        env FAULT_KIND=$kind FAULT_AT=$n FAULT_OTHER=1 FAULT_VOLUME=/ "${afresh[@]}" >out 2>err || rc=$?
        assert_eq "what is beside the members with $kind $n failing" "$(echo work.vol*)" \
            "work.vol.a work.vol.b work.vol.c work.vol.d"
        if [ $rc = 0 ]; then
            clean "$(named work.vol)" "$kind $n"
            former
            before=$(contents work.vol)
            continue
        fi
        failed=$((failed + 1))
        assert_eq "lines with $kind $n failing: $(cat err)" "$(wc -l <err)" 1
        assert_eq "the files with $kind $n failing: $(cat err)" "$(contents work.vol)" "$before"
    done
    noticed $failed $kind "$total"
    say "$kind: $total calls, $failed failures reported"
done

# mixed N: the first N names are of the new volume, the others of the former ones. The new one is whole under the names
# that it has; the names that it was to have are refused, and one of them is named
mixed() {
    local i names=(work.vol.a work.vol.b work.vol.c work.vol.d)
    fresh=$(uuid_of work.vol.a)
    assert_eq "the version" "$(datasetfsctl list --json work.vol.a | json versions.0.label)" fresh
    clean work.vol.a "the new volume, found by one of its names"
    assert_fails 1 "'${names[$1]}'" datasetfsctl list "$(named work.vol)"
    for ((i = $1; i < 4; i++)); do names[i]+=.new-mkdatasetfs; done
    clean "$(IFS=, && echo "${names[*]}")" "the new volume by its names"
    [ "$1" != 1 ] || clean work.vol.c "a former volume that is whole"
    [ "$1" != 2 ] || assert_fails 1 "1 of 2 members are missing: member 0" datasetfsctl list work.vol.c
}

# mended: the volume is whole under the names that it was to have
mended() {
    clean "$(named work.vol)" "a volume that was mended"
    assert_eq "what is beside the members" "$(echo work.vol*)" "work.vol.a work.vol.b work.vol.c work.vol.d"
}

say "--format, killed before a rename"
for n in 1 2 3 4; do
    former
    before=$(contents work.vol)
    env FAULT_KIND=name FAULT_AT=$n FAULT_STOP=1 "${afresh[@]}" >out 2>err &
    packer=$!
    wait_for 20 is_stopped $packer || fail "it does not stop: $(cat err)"
    kill -KILL $packer
    wait $packer 2>killed.log || true
    if [ $n = 1 ]; then
        assert_eq "the files before the first rename" "$(contents work.vol)" "$before"
    else
        mixed $((n - 1))
    fi
    "${afresh[@]}" >out 2>err || fail "again: $(cat err)"
    [ "$(uuid_of work.vol.a)" != "${fresh-}" ] || fail "it was not made again"
    mended
done

say "--format, a rename that fails"
for n in 1 2 3 4; do
    former
    before=$(contents work.vol)
    exits 1 env FAULT_KIND=name FAULT_AT=$n "${afresh[@]}" >out 2>err
    assert_eq "lines with rename $n failing: $(cat err)" "$(wc -l <err)" 1
    if [ $n = 1 ]; then
        assert_eq "the files when the first rename failed" "$(contents work.vol)" "$before"
        assert_eq "what is beside the members" "$(echo work.vol*)" "work.vol.a work.vol.b work.vol.c work.vol.d"
        continue
    fi
    names=(a b c d)
    name=work.vol.${names[n - 1]}
    assert_contains "the line" "$(cat err)" \
        "the version is published, but in place of '$name' it has '$name.new-mkdatasetfs': cannot rename"
    mixed $((n - 1))
    for name in work.vol.*.new-mkdatasetfs; do mv "$name" "${name%.new-mkdatasetfs}"; done
    assert_eq "the volume after renames by hand" "$(uuid_of work.vol.a)" "$fresh"
    mended
done
