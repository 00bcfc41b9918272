#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: plain once timeout=900
# A row of the benchmark of each kind, with --all every row, runs with every contestant, reads what it should and counts
# something. Nothing about time. Rows in PyTorch, which takes seconds to start, have fewer contestants without --all.
. "$(dirname "$0")/../lib/common.sh"
need_fuse
need_loop
need_space 600
need_command fio python3 cc ssh-keygen

kinds=capped-8k-16-unknown,cpu-8k-8,latency-8k,python-8k-16,pack-8k,tar-8k,shuffled-ahead,prefetch-1ms,lib-cpu-8k
kinds+=,python-cpu-8k,run-cpu-8k-2,run-start-true,mirror-2-lost
kinds+=,mirror-4-replace,capped-text-64,preads-1g,sequential-4g,find-4k,mount-4k-trust
kinds+=,switch-4k,publish-trust-4k,compact-4k,prefetch-blocks-8k,shared-8k,beside-8k-verify,tier-full-8k
torch=dataloader-8k,epoch-8k-one-capped,imagefolder-110k,first-batch-4k
every=$("$DATASETFS_SOURCE/tests/bench/run" --list | awk '{ print $1 }' | paste -sd,)
export ROWS
ROWS=$(length "$kinds" "$every")

# measure FILE OPTION…: into this JSON
measure() {
    local rc=0
    "$DATASETFS_SOURCE/tests/bench/run" --smoke --no-install --build "$DATASETFS_BUILD" --work "$PWD/work" \
        --json "$PWD/$1" "${@:2}" || rc=$?
    [ $rc = 0 ] || fail "the benchmark ended with status $rc"
}
measure smoke.json --rows "$ROWS"
files=(smoke.json)
if [ "$DATASETFS_FULL" = 0 ]; then
    measure torch.json --rows $torch --columns dev,lib-blocks,shards-raw,carry
    files+=(torch.json)
    ROWS+=,$torch
fi

# All these rows are in the JSON, and in those that measure files each contestant read the whole tree.
python3 - "${files[@]}" <<'PYTHON' || fail "${files[*]}: not as it should be"
import json, os, sys
rows = [row for name in sys.argv[1:] for row in json.load(open(name))["rows"]]
assert {row["name"] for row in rows} >= set(os.environ["ROWS"].split(",")), "rows are missing"
whole = 0
for row in rows:
    for name, found in row["contestants"].items():
        assert len(found["runs"]) == 1 and found["median"] > 0, (row["name"], name)
        if row["unit"] == "files/s" and name != "fio":
            assert found["runs"][0]["count"] == row["tree"]["files"], (row["name"], name)
            whole += 1
assert whole >= 10, f"only {whole} whole trees were read"
print(f"{len(rows)} rows, {whole} whole trees")
PYTHON
[ ! -e work ] || fail "the work folder was left behind"

# chart reads the file that run writes.
chart=$DATASETFS_SOURCE/tests/bench/chart
"$chart" --rows cpu-8k-8,pack-8k smoke.json >chart.svg || fail "the chart was not drawn"
for words in cpu-8k-8 pack-8k "</svg>"; do
    assert_contains "chart" "$(cat chart.svg)" "$words"
done
assert_eq "lines of the table" "$("$chart" --table --rows cpu-8k-8,pack-8k smoke.json | wc -l)" 4

# An earlier build reads the same images, and packs.
"$DATASETFS_SOURCE/tests/bench/run" --smoke --no-install --build "$DATASETFS_BUILD" --against "$DATASETFS_BUILD" \
    --rows cpu-8k-8,pack-8k,find-4k --columns dev --work "$PWD/work" --json "$PWD/pairs.json" ||
    fail "the benchmark against an earlier build ended with status $?"
assert_eq "who was measured in pairs" "$(python3 -c 'import json
print(*(" ".join(row["contestants"]) for row in json.load(open("pairs.json"))["rows"]), sep="; ")')" \
    "dev dev-before; mkdatasetfs mkdatasetfs-before; dev dev-before"

# A row that does not exist is refused.
exits 2 "$DATASETFS_SOURCE/tests/bench/run" --rows nothing >rows.log 2>&1
assert_contains "refusal of an unknown row" "$(cat rows.log)" "no row 'nothing'"
