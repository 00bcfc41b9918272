#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: smoke in=asan
# Usage errors: one specific line on stderr, status 2, nothing touched.
. "$(dirname "$0")/../lib/common.sh"

mkdir source
echo x >source/file

assert_fails 2 "VOLUME" mkdatasetfs
assert_fails 2 "SOURCE" mkdatasetfs volume
assert_fails 1 "'source' is a directory, expected one directory alone, or archives" mkdatasetfs volume source more
assert_fails 2 "unknown option '--frobnicate'" mkdatasetfs --frobnicate volume source
assert_fails 2 "unknown option '-q'" mkdatasetfs -q volume source
assert_fails 2 "'--label' needs" mkdatasetfs volume source --label
assert_fails 2 "'--force' takes no value" mkdatasetfs --force=yes volume source
assert_fails 2 "'lzma'" mkdatasetfs --compress lzma volume source
assert_fails 2 "99" mkdatasetfs --compress zstd:99 volume source
assert_fails 2 "'--chunk-size'" mkdatasetfs --chunk-size 5000 volume source
assert_fails 2 "'--chunk-size'" mkdatasetfs --chunk-size 2M volume source
assert_fails 2 "'--chunk-size'" mkdatasetfs --chunk-size 12X volume source
assert_fails 2 "'--jobs'" mkdatasetfs -j 0 volume source
assert_fails 2 "'--jobs'" mkdatasetfs --jobs many volume source
assert_fails 2 "'--progress'" mkdatasetfs --progress loud volume source
assert_fails 2 "'--special'" mkdatasetfs --special=keep volume source
assert_fails 2 "'--uuid'" mkdatasetfs --uuid 1234 volume source
assert_fails 2 "'--label'" mkdatasetfs --label "" volume source
assert_fails 2 "'--label'" mkdatasetfs --label a/b volume source
assert_fails 2 "'--label'" mkdatasetfs --label "$(printf 'l%.0s' {1..128})" volume source
[ ! -e volume ] || fail "a usage error made a volume"

pack volume source
assert_fails 2 "unknown option '--frobnicate'" datasetfs --frobnicate volume source
assert_fails 2 "MOUNTPOINT" datasetfs volume
assert_fails 2 "datasetfs: -o verison: unknown; did you mean version?" datasetfs -o ro,verison=v1 volume mnt
assert_fails 2 "datasetfs: -o noverisons: unknown; did you mean noversions?" datasetfs --options noverisons volume mnt
assert_fails 2 "datasetfs: mount option 'workers': '0'" datasetfs -o workers=0 volume mnt
assert_fails 2 "unknown verb 'frobnicate', see 'datasetfsctl --help'" datasetfsctl frobnicate volume
assert_fails 2 "unknown verb 'vrify', did you mean 'verify'?" datasetfsctl vrify volume
assert_fails 2 "unknown verb 'relpace', did you mean 'replace'?" datasetfsctl member relpace volume
assert_fails 2 "list: unknown option '--jsno', did you mean '--json'?" datasetfsctl list --jsno volume
assert_fails 2 "unknown option '--frobnicate'" datasetfsctl list --frobnicate volume
assert_fails 2 "'--sample'" datasetfsctl verify --sample 0% volume
assert_fails 2 "'--sample'" datasetfsctl verify --sample 101% volume
assert_fails 2 "'--shard'" datasetfsctl verify --shard 3/2 volume
assert_fails 2 "'--shard'" datasetfsctl verify --shard 0/2 volume
