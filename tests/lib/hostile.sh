# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Hostile volumes: sound ones with records of every kind, of which tests/format/hostile makes others with right sums.

export SOURCE_DATE_EPOCH=1700000000

# hostile_tree FOLDER: files of every kind that a version can have
hostile_tree() {
    mkdir -p "$1/a/b/c" "$1/empty"
    for i in {1..60}; do head -c $((i * 97)) /dev/urandom >"$1/a/file $i"; done
    for i in {1..20}; do head -c $((i * 4001)) <(yes "text $i") >"$1/a/b/text$i"; done
    head -c 1200000 <(yes "compresses well") >"$1/large"
    head -c 1100000 /dev/urandom >"$1/noise"
    ln -s a/b "$1/link"
    ln "$1/large" "$1/second"
    truncate -s 2000000 "$1/sparse"
    printf end >>"$1/sparse"
    printf middle | dd of="$1/sparse" bs=1 seek=1000000 conv=notrunc status=none
    truncate -s 200M "$1/holes"
    printf end >>"$1/holes"
    setfattr -n user.kind -v one "$1/a" "$1/large"
    setfattr -n user.more -v "$(printf '%300s' x)" "$1/large" "$1/a/b/text1"
    chmod 0640 "$1/noise"
}

# hostile_volumes: the sound ones, as sound/*.dsfs
hostile_volumes() {
    hostile_tree tree
    mkdir -p sound
    [ -e key ] || ssh-keygen -q -t ed25519 -N '' -C alice -f key
    pack sound/plain.dsfs tree
    pack sound/small.dsfs tree --chunk-size 4K --order random:7
    pack sound/signed.dsfs tree --compress zstd --sums sha256 --sign key
    cp -r tree second && echo "of the second version" >second/more && rm "second/a/file 3"
    pack sound/versions.dsfs tree --label one --segment-size 1M
    pack sound/versions.dsfs second --label two --order random:3
    rm -rf second
}
