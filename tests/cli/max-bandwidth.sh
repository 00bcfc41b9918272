#!/bin/bash
# SPDX-License-Identifier: MIT
# Verbs that read much of a volume find the same when their reads are held back, and refuse a limit that is none.
. "$DATASETFS_SOURCE/tests/lib/common.sh"

mkdir source
for i in {0..29}; do head -c 100000 /dev/urandom >source/$i; done
for i in {0..29}; do echo $i >source/tiny$i; done # in the index, where no device is read
pack "volume.a,volume.b" source --protect mirror:2

say "wrong limits"
for verb in verify scrub compact "member replace"; do
    # shellcheck disable=SC2086 # one or two words
    assert_fails 2 "'--max-bandwidth': '10' is out of range, expected 1M to 1T" \
        datasetfsctl $verb --max-bandwidth 10 volume.a 1 new
done

# found VERB [OPTION…]: what it says of the volume, but for the time that it took and chance
found() {
    datasetfsctl "$1" --json "${@:2}" volume.a >"$1.json" || fail "$*: $?"
    sed -E 's/"(seconds|seed)": *[0-9.]+//g' "$1.json"
}

say "the same"
for verb in verify scrub; do
    assert_eq "$verb" "$(found $verb --max-bandwidth 8M)" "$(found $verb)"
done
datasetfsctl member replace --max-bandwidth 8M --progress none volume.a 1 new.b || fail "replace: $?"
datasetfsctl verify --max-bandwidth 1T volume.a || fail "verify after that: $?"
datasetfsctl compact --max-bandwidth 8M --below 100 volume.a || fail "compact: $?"
