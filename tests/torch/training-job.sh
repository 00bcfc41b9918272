#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: once timeout=300
# The program of contrib/kubernetes/training-job.yaml: two ranks on one mount, as the users of its pods, move to the
# volume's current version together; without the group that may switch none does.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse
need_root
/usr/bin/python3 -c 'import torch.distributed, yaml' 2>/dev/null ||
    skip "no PyTorch or no YAML: apt-get install python3-torch python3-yaml"

/usr/bin/python3 - "$DATASETFS_SOURCE/contrib/kubernetes/training-job.yaml" >train.py <<'END_PYTHON'
import sys, yaml
for found in yaml.safe_load_all(open(sys.argv[1])):
    if found["kind"] == "ConfigMap":
        print(found["data"]["train.py"])
END_PYTHON
mkdir source
for i in {1..50}; do echo "file $i" >"source/$i"; done
pack volume source --label v1
mount_volume volume mnt -o control_group=2000
for i in {1..50}; do echo "more of it: file $i" >"source/$i"; done
pack volume source --label v2

# ranks GROUP: both run to their end
ranks() {
    local rank running=()
    for rank in 0 1; do
        RANK=$rank WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port \
            PYTHONPATH=$DATASETFS_BUILD/root/usr/share/datasetfs/python \
            setpriv --reuid 1000 --regid 1000 --groups "$1" /usr/bin/python3 train.py mnt >rank$rank.log 2>&1 &
        running+=($!)
    done
    for rank in 0 1; do wait "${running[rank]}" || echo "rank $rank: status $?"; done
}
# The kernel gives others ports above these, and no test that runs at the same time has our process ID.
port=$((10000 + $$ % 20000))

say "a user who may not switch"
assert_eq "ranks" "$(ranks 2001)" "rank 0: status 1
rank 1: status 1"
for rank in 0 1; do
    assert_contains "rank $rank" "$(cat rank$rank.log)" "no switch: rank 0: SwitchError: [Errno 1] "
done
assert_eq "version" "$(json label mnt/.datasetfs/version)" v1

say "one who may"
port=$((port + 1))
assert_eq "ranks" "$(ranks 2000)" ""
cat rank0.log rank1.log
for epoch in 0 1 2; do
    bytes=$(awk -v epoch="^epoch $epoch, rank [01]: version v2, " '$0 ~ epoch { n += $7 } END { print n }' rank?.log)
    assert_eq "bytes of epoch $epoch" "$bytes" "$(cat source/* | wc -c)"
done
assert_eq "version" "$(json label mnt/.datasetfs/version)" v2
