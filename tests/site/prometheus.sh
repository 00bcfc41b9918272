#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: plain once
# A real Prometheus scrapes the exporter, as contrib/kubernetes has it for the operator and with the rules as they are
# shipped: it finds the series of two mounts with the values that they have, and something for each panel of the
# dashboard; the alert DatasetfsReadsFail fires when a read gets EIO. promtool tests every rule.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse
need_command python3 prometheus promtool
need_python python3-yaml yaml
own_namespace # the exporter asks each mount that it sees, and those of other tests may hang

rules=$DATASETFS_SOURCE/contrib/prometheus/datasetfs.rules.yml
promtool check rules "$rules" || fail "promtool check rules"
sed "s,RULES,$rules," "$DATASETFS_SOURCE/tests/site/prometheus-rules.yml" >rules-test.yml
promtool test rules rules-test.yml || fail "promtool test rules"
alerts=$(grep -c 'alert: ' "$rules")
assert_eq "alerts that are tested" "$(grep -oE 'Datasetfs[A-Za-z]+' rules-test.yml | sort -u | wc -l)" "$alerts"

mkdir source
for i in {1..10}; do head -c 20000 /dev/urandom >source/$i; done
pack volume source
pack other.a,other.b source --protect mirror:2
datasetfsctl stat --json volume 7 | python3 "$LIB/chunks.py" >chunks
read -r _ _ _ offset stored <chunks
mount_volume volume mnt -o readahead=off
first=$DAEMON
mount_volume other.a mnt2 -o readahead=off
datasetfs-exporter --listen 127.0.0.1:0 2>exporter.log &
EXPORTER=$!
end_process_at_exit $EXPORTER
wait_for 60 grep -q 'metrics are at' exporter.log || fail "no exporter: $(cat exporter.log)"

ask() { python3 "$DATASETFS_SOURCE/tests/site/prometheus.py" "$@"; }
address=$(sed -n 's,.*http://\(.*\)/metrics.*,\1,p' exporter.log)
cat >prometheus.yml <<END
global: { scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s }
rule_files: ["$rules"]
scrape_configs: $(ask scrape "$DATASETFS_SOURCE/contrib/kubernetes/scrape-config.yaml" "$address")
END
promtool check config prometheus.yml >config.log || fail "the configuration: $(cat config.log)"

ask start prometheus.yml >port || fail "no Prometheus: $(tail prometheus.log)"
read -r process PORT <port
end_process_at_exit "$process"

# query EXPRESSION: the value, or nothing; of one series
query() {
    ask query "$PORT" "$1"
}
# comes EXPRESSION VALUE: is what it finds, by now
comes() {
    [ "$(query "$1")" = "$2" ]
}
# await EXPRESSION VALUE
await() {
    wait_for 120 comes "$1" "$2" || fail "$1 is '$(query "$1")' and not '$2'; $(tail -n 5 prometheus.log)"
}

say "scraped"
await "up{job=\"datasetfs\",instance=\"worker7\"}" 1
await "datasetfs_up{mountpoint=\"$PWD/mnt\"} + on () datasetfs_up{mountpoint=\"$PWD/mnt2\"}" 2
await "datasetfs_served_bytes_total{mountpoint=\"$PWD/mnt\"}" 0
for i in {1..10}; do [ $i = 7 ] || cat mnt/$i; done | cmp - <(for i in {1..10}; do [ $i = 7 ] || cat source/$i; done)
await "datasetfs_served_bytes_total{mountpoint=\"$PWD/mnt\"}" 180000
await "datasetfs_served_bytes_total{mountpoint=\"$PWD/mnt2\"}" 0
await "datasetfs_read_duration_seconds_count{mountpoint=\"$PWD/mnt\"}" 9
await "count(datasetfs_version_info{mountpoint=\"$PWD/mnt\",digest=\"$(json digest mnt/.datasetfs/version)\"})" 1
await "histogram_quantile(1, datasetfs_read_duration_seconds_bucket{mountpoint=\"$PWD/mnt\"}) > bool 0" 1

say "the dashboard"
ask panels "$PORT" "$DATASETFS_SOURCE/contrib/grafana/datasetfs.json" || fail "a panel"

say "no alert of these mounts"
firing="ALERTS{alertstate=\"firing\",mountpoint=~\"$PWD/mnt2?\"}"
assert_eq "alerts" "$(query "count($firing)")" ""

say "reads fail"
spoil volume $((offset + stored / 2))
cat mnt/7 >/dev/null 2>read.err && fail "damage was not noticed"
assert_contains "the read" "$(cat read.err)" "Input/output error"
failures=$(stats mnt read_failures)
[ "$failures" -ge 1 ] || fail "no read failed: $(cat mnt/.datasetfs/stats.json)"
await "datasetfs_read_failures_total{mountpoint=\"$PWD/mnt\"}" "$failures"
await "ALERTS{alertname=\"DatasetfsReadsFail\",alertstate=\"firing\",mountpoint=\"$PWD/mnt\"}" 1
await "ALERTS{alertname=\"DatasetfsDamageFound\",alertstate=\"firing\",mountpoint=\"$PWD/mnt\"}" 1
assert_eq "alerts of the other mount" "$(query "count(ALERTS{mountpoint=\"$PWD/mnt2\"})")" ""

say "the exporter is gone"
kill $EXPORTER
await "up{job=\"datasetfs\"}" 0
await "ALERTS{alertname=\"DatasetfsExporterDown\",alertstate=\"pending\"}" 1
! grep -E 'level=(warn|error)' prometheus.log || fail "Prometheus complains"
unmount mnt2
DAEMON=$first unmount mnt
