# SPDX-License-Identifier: MIT
# For tests of a mount with a cache on this machine: epochs, and what they read of the volume and the cache.
# shellcheck shell=bash
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

SEED=${SEED:-$RANDOM}
echo "seed $SEED"

# cached MOUNT FIELD: of the counters of its cache
cached() {
    stats "$1" "local_cache_$2"
}

# mixed_files FOLDER COUNT: files that a cache may have, of one chunk and of several
mixed_files() {
    python3 "$LIB/mixed_files.py" "$1" "$SEED" "$2" || fail "mixed_files.py $*"
}

# chunks_in FOLDER: how many chunks its files have that are not in the index
chunks_in() {
    find "$1" -maxdepth 1 -type f -size +4k -printf '%s\n' |
        awk '{ n += int(($1 + 131071) / 131072) } END { print n }'
}

# epoch MOUNT SOURCE [THREADS]: reads all files once; HITS, READS and WRONG say how many reads the cache and the volume
# answered, and how many times the cache had something else
epoch() {
    local hits reads errors
    hits=$(cached "$1" hits)
    reads=$(stats "$1" device_reads)
    errors=$(cached "$1" errors)
    python3 "$LIB/epoch.py" "$1" "$2" $((++SEED)) "${3:-4}" || fail "an epoch of $1"
    HITS=$(($(cached "$1" hits) - hits))
    READS=$(($(stats "$1" device_reads) - reads))
    WRONG=$(($(cached "$1" errors) - errors))
    echo "$1: $HITS reads of the cache, $READS of the volume, $WRONG of the cache in vain"
}

# epoch_from_cache MOUNT SOURCE MOST [THREADS]: an epoch that reads the volume MOST times at most. On a busy machine
# reads of the cache are slow for a while, and the volume is read beside it: then another epoch is due.
epoch_from_cache() {
    for _ in {1..10}; do
        epoch "$1" "$2" "${4:-4}"
        [ "$READS" -gt "$3" ] || return 0
    done
    fail "$1: the volume was read $READS times, expected $3 at most"
}

# settled MOUNT COUNT: the cache has so many chunks, or what it did not take is counted
settled() {
    wait_for 60 eval "[ \$((\$(cached $1 fills) + \$(cached $1 dropped))) -ge $2 ]" ||
        fail "$1: $(cached "$1" fills) fills, $(cached "$1" dropped) dropped, expected $2"
}

# filled MOUNT SOURCE COUNT: the cache has taken so many chunks. Those that were dropped, as its drive was too slow for
# the readers, come in another epoch.
filled() {
    local dropped=0
    for _ in {1..10}; do
        settled "$1" $(($3 + dropped))
        dropped=$(cached "$1" dropped)
        [ "$(cached "$1" fills)" -lt "$3" ] || return 0
        epoch "$1" "$2"
    done
    fail "$1: $(cached "$1" fills) fills of $3 after ten epochs, $dropped dropped"
}

# without_trouble MOUNT: nothing that the cache did is an error of the mount
without_trouble() {
    local field
    for field in errors read_failures checksum_failures device_errors retries damaged; do
        assert_eq "$1: $field" "$(stats "$1" $field)" 0
    done
}

# cache_folder NAME: an empty one
cache_folder() {
    rm -rf "$1"
    install -d -m 700 "$1"
}

# saved FOLDER: how many chunks were saved last
saved() {
    python3 - "$1"/*/map <<'END'
import struct, sys
saved = open(sys.argv[1], "rb").read()
slots = struct.unpack_from("<I", saved, 40)[0]
words = (56 + 8 * slots + 63) // 64 * 64  # they begin with a cache line
print(sum(word != 0 for word, in struct.iter_unpack("<Q", saved[words:])))
END
}

# await_save FOLDER COUNT: until so many chunks are saved
await_save() {
    wait_for 60 eval "[ \$(saved $1) -ge $2 ]" || fail "$(saved "$1") chunks are saved in $1, expected $2"
}
