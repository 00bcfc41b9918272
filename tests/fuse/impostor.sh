#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=asan
# A user's mount that calls itself datasetfs leads no tool out of it, takes nothing from root's mounts in the exporter's
# answer, and writes nothing to a terminal; its numbers break nothing.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse
need_command python3
own_namespace
need_root

mkdir source
echo hello >source/file
pack volume source

# impostor MOUNTPOINT NAME=FILE|NAME@TARGET...: mounts it; in IMPOSTOR its process
impostor() {
    local point=$1
    mkdir -p "$point"
    : >impostor.log # the last one was ready, too
    python3 "$DATASETFS_SOURCE/tests/fuse/impostor.py" "$point" 65534 "${@:2}" >impostor.log 2>&1 &
    IMPOSTOR=$!
    end_process_at_exit $IMPOSTOR
    wait_for 60 grep -q ready impostor.log || fail "no mount: $(cat impostor.log)"
}
end_impostor() {
    kill $IMPOSTOR
    wait_end $IMPOSTOR || fail "it cannot be killed"
    umount -l "$1"
}

say "an impostor's families"
cat >metrics <<'END'
# HELP datasetfs_clients Clients.
# TYPE datasetfs_clients histogram
datasetfs_clients_bucket{le="+Inf"} 1
END
for i in {1..490}; do printf '# HELP datasetfs_%s A.\n# TYPE datasetfs_%s gauge\n' $i $i; done >>metrics
impostor false metrics=metrics
mount_volume volume mnt
datasetfs-exporter --listen 127.0.0.1:0 2>exporter.log &
EXPORTER=$!
end_process_at_exit $EXPORTER
wait_for 60 grep -q 'metrics are at' exporter.log || fail "it does not begin: $(cat exporter.log)"
python3 -c 'import sys, urllib.request; sys.stdout.write(urllib.request.urlopen(sys.argv[1]).read().decode())' \
    "$(grep -o 'http://[^ ]*' exporter.log)" >text
for mount in "mnt 1" "false 0"; do
    grep -qF "datasetfs_up{mountpoint=\"$PWD/${mount% *}\"} ${mount#* }" text || fail "up: $(grep -a _up text)"
done
kill -TERM $EXPORTER
wait $EXPORTER || fail "it ended with status $?"
end_impostor false

say "an impostor's links"
mkfifo fifo
cat mnt/.datasetfs/version >version.json
cat mnt/.datasetfs/stats.json >stats.json
impostor false version="$PWD/version.json" stats.json@"$PWD/stats.json" control@"$PWD/fifo"
assert_fails 1 "cannot open '$PWD/false/.datasetfs/stats.json': Too many levels of symbolic links" \
    datasetfsctl status false
assert_fails 1 "cannot open '$PWD/false/.datasetfs/control': Too many levels of symbolic links" \
    timeout 60 datasetfsctl switch false
# is_told: by top, for which a mount may be too late on a busy machine
is_told() {
    COLUMNS=400 datasetfsctl top --batch 1 "$PWD/false" >top && grep -qF "Too many levels of symbolic links" top
}
wait_for 20 is_told || fail "top: $(cat top)"
end_impostor false

say "an impostor's numbers and words"
python3 - <<'END'
import json
stats, version = json.load(open("stats.json")), json.load(open("version.json"))
for key, value in stats.items():
    if type(value) is int:
        stats[key] = 1 << 63
    if type(value) is float:
        stats[key] = 1e308
stats["read_latency_us"] = [2 ** 64 - 1] * 100
stats["members"] = [{"member": 2 ** 64 - 1, "state": "suspect\33[2J\n\u202e", "latency": 1e308, "name": "\33c"}]
stats["options"] = {"workers\33[2J": 2 ** 63, "io": [{}], "\n": "\n"}
stats["generations"] = [{"label": "\33[31m", "lookups": -1}]
version["label"] = version["volume"] = "\33[2J\n" * 300
json.dump(stats, open("wild-stats.json", "w"))
json.dump(version, open("wild-version.json", "w"))
END
impostor $'fal\nse\33[2J' version=wild-version.json stats.json=wild-stats.json
datasetfsctl status $'fal\nse\33[2J' >page || fail "status"
COLUMNS=400 datasetfsctl top --batch 2 >>page || fail "top"
datasetfsctl top --json --batch 2 >json || fail "top --json"
python3 -c 'import json, sys; [json.loads(line) for line in sys.stdin]' <json || fail "top --json: $(cat json)"
! LC_ALL=C grep -aq $'[\1-\11\13-\37\177]' page json || fail "they write to the terminal: $(cat -v page)"
assert_contains "status" "$(cat page)" "stalled: reads have waited for the device for 0 s"
end_impostor $'fal\nse\33[2J'
unmount mnt
