#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: plain timeout=400
# datasetfsctl member grow with its Nth allocation, read, write or flush failing: one line and exit 1, and no member has
# grown, or the line says that they may have. The next publish brings both members to the same size.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_loop

former=$((16 << 20)) grown=$((20 << 20))
mkdir tree
head -c 1200000 /dev/urandom >tree/large
. "$LIB/faults.sh"
of_members a b
for member in a b; do
    truncate -s $former disk.$member
    loop_device disk.$member
    ln -s "$LOOP" work.vol.$member
done
pack "$(named work.vol)" tree --label one --segment-size 1M --protect mirror:2
for member in a b; do
    truncate -s $grown disk.$member
    losetup --set-capacity "$(readlink work.vol.$member)"
    cat work.vol.$member >base.vol.$member
done

restore() {
    local member
    for member in a b; do cat "base.vol.$member" >"work.vol.$member"; done
}

# sizes: of the members
sizes() {
    datasetfsctl list --json "$(named work.vol)" | python3 -c '
import json, sys
print(*(member["member_size"] for member in json.load(sys.stdin)["member_list"]))'
}

# published_next WHAT: somebody publishes, and succeeds
published_next() {
    mkdatasetfs --progress none --label next "$(named work.vol)" tree >next.out 2>&1 ||
        fail "$1: the next publish: $(cat next.out)"
    clean "$(named work.vol)" "$1: after the next publish"
    case $(sizes) in
    "$former $former" | "$grown $grown") ;;
    *) fail "$1: the members have $(sizes) bytes" ;;
    esac
}

faults_of "^datasetfsctl: cannot let '.*' grow: ." "member 1 has grown from 16.0 MiB to 20.0 MiB" \
    datasetfsctl member grow "$(named work.vol)"
every write 1
every flush 1
every read 3
every alloc 3
