# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Hostile volumes: sound ones with records of every kind, of which tests/format/hostile makes others with right sums.
# KINDS in the environment chooses among them, as in KINDS='mirror stale'.

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

hostile_plain() { pack "$1" tree; }
hostile_small() { pack "$1" tree --chunk-size 4K --order random:7; }
hostile_signed() { pack "$1" tree --compress zstd --sums sha256 --sign key; }
hostile_versions() {
    pack "$1" tree --label one --segment-size 1M
    pack "$1" second --label two --order random:3
}
hostile_spread() { pack "$1.a,$1.b,$1.c" tree --segment-size 1M --protect none; }
hostile_mirror() {
    pack "$1.a,$1.b" tree --label one --segment-size 1M --protect mirror:2
    pack "$1.a,$1.b" second --label two --sign key
}
# One of three members lacks the second version.
hostile_stale() {
    pack "$1.a,$1.b,$1.c" tree --label one --segment-size 1M --protect mirror:2
    mv "$1.c" kept
    pack "$1.a,$1.b" second --label two --degraded
    mv kept "$1.c"
}

# hostile_volumes: the sound ones, with their members' names in SOUNDS
hostile_volumes() {
    hostile_tree tree
    cp -r tree second && echo "of the second version" >second/more && rm "second/a/file 3"
    mkdir -p sound
    [ -e key ] || ssh-keygen -q -t ed25519 -N '' -C alice -f key
    SOUNDS=()
    for kind in ${KINDS:-plain small signed versions spread mirror stale}; do
        "hostile_$kind" "sound/$kind"
        SOUNDS+=("$(printf '%s\n' "$PWD/sound/$kind"* | paste -sd,)")
    done
    rm -rf second
}
