#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: smoke in=asan
# datasetfs-exporter: the metrics of all mounts in one answer, in both formats; a mount that hangs, one that
# is covered, and one that is seen twice; what a scrape costs; the end by SIGTERM.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse
need_command python3
own_namespace # the exporter asks each mount that it sees, and those of other tests may hang

mkdir source
for i in {1..20}; do head -c $((i * 1000)) /dev/urandom >source/$i; done
pack volume source
pack other source --label other

program=(datasetfs-exporter)
start() {
    : >exporter.log
    "${program[@]}" --listen 127.0.0.1:0 "$@" 2>exporter.log &
    EXPORTER=$!
    end_process_at_exit $EXPORTER
    wait_for 60 grep -q 'metrics are at http://127.0.0.1:' exporter.log || fail "it does not begin: $(cat exporter.log)"
    URL=$(grep -o 'http://[^ ]*' exporter.log)
}

# ask FILE: the body of an answer, and its head in FILE.head
ask() {
    python3 - "$URL" "$@" <<'END'
import sys, urllib.request
with urllib.request.urlopen(sys.argv[1], timeout=120) as answer:
    open(sys.argv[2] + ".head", "w").write(str(answer.headers))
    open(sys.argv[2], "wb").write(answer.read())
END
}

# series FILE NAME MOUNT [LABELS]: its value
series() {
    python3 "$LIB/exposition.py" "$1" "datasetfs_$2{mountpoint=\"$PWD/$3\"${4:+,$4}}"
}

# own FILE NAME: a series of the exporter itself
own() {
    python3 "$LIB/exposition.py" "$1" "datasetfs_exporter_$2"
}

# asks UP MOUNT MOUNT: until that is datasetfs_up of these in 'text'; on a busy machine one may be too late for it
asks() {
    is_up() { ask text && [ "$(series text up "$2") $(series text up "$3")" = "$1" ]; }
    wait_for 60 is_up "$@" || fail "up of $2 and $3 is not '$1': $(cat text exporter.log)"
}

mount_volume volume mnt -o readahead=off
first=$DAEMON
mount_volume other mnt2
start

say "the text format"
cat mnt/{1..20} | wc -c >size
asks "1 1" mnt mnt2
assert_contains "text" "$(cat text.head)" "Content-Type: text/plain; version=0.0.4; charset=utf-8"
assert_eq "the last family" "$(tail -n 1 text | cut -d ' ' -f 1)" datasetfs_exporter_cpu_seconds_total
assert_eq "bytes" "$(series text served_bytes_total mnt)" "$(cat size)"
assert_eq "bytes of the other" "$(series text served_bytes_total mnt2)" 0
assert_eq "reads" "$(series text read_duration_seconds_count mnt)" 20
label=$(json digest mnt2/.datasetfs/version)
grep -qF "datasetfs_version_info{mountpoint=\"$PWD/mnt2\",version=\"other\",digest=\"$label\"," text ||
    fail "no version of mnt2: $(grep _info text)"
assert_eq "the type of a counter" "$(grep -c '^# TYPE datasetfs_served_bytes_total counter$' text)" 1
! command -v promtool >/dev/null || promtool check metrics <text || fail "promtool check metrics"
assert_eq "as the mount says it" "$(series text device_reads_total mnt)" "$(stats mnt device_reads)"

if is_root; then
    say "as a user without rights, like the unit's"
    chmod a+x .
    cp "$(command -v datasetfs-exporter)" .
    kill -TERM $EXPORTER
    wait $EXPORTER || fail "it ended with status $?"
    program=(setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set=-all --inh-caps=-all
        ./datasetfs-exporter)
    start
    asks "1 1" mnt mnt2
    assert_eq "bytes" "$(series text served_bytes_total mnt)" "$(cat size)"
fi

say "HTTP"
python3 - "$URL" <<'END' || fail "HTTP"
import http.client, sys, time, urllib.parse
place = urllib.parse.urlsplit(sys.argv[1])
for method, path, status in (("GET", "/", 200), ("GET", "/x", 404), ("POST", "/metrics", 405),
                             ("HEAD", "/metrics", 200), ("GET", "/metrics?x=1", 200), ("DELETE", "/", 405)):
    connection = http.client.HTTPConnection(place.hostname, place.port, timeout=120)
    connection.request(method, path, body=b"x" * 100000 if method == "POST" else None)
    answer = connection.getresponse()
    answer.read()
    assert answer.status == status, f"{method} {path}: {answer.status}"
# A request that is not HTTP is answered or its connection closed, and connections without a request do no harm.
import socket
sockets = [socket.create_connection((place.hostname, place.port), timeout=120) for _ in range(40)]
sockets[0].sendall(b"\0" * 100000 + b"\r\n\r\n")
for one in sockets:
    one.close()
# Clients that never end their request take all places of their address. Another address gets its answer, and so does
# this one when they have gone.
def status(path, source):
    connection = http.client.HTTPConnection(place.hostname, place.port, timeout=120, source_address=(source, 0))
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    except ConnectionResetError:
        return "reset"
slow = [socket.create_connection((place.hostname, place.port), timeout=120) for _ in range(128)]
for one in slow:
    one.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nX: ")
deadline = time.monotonic() + 60
while status("/", "127.0.0.1") != "reset":
    assert time.monotonic() < deadline, "129 connections of one address"
assert status("/", "127.0.0.2") == 200
assert status("/metrics", "127.0.0.2") == 200
for one in slow[:64]:
    one.sendall(b"\r\n\r\n")
    assert one.recv(100).startswith(b"HTTP/1.1 200 "), "a slow request got no answer"
for one in slow:
    one.close()
END
wait_for 60 ask text || fail "no answer after that"

say "a socket of the service manager's"
python3 - <<'END' || fail "a socket that was passed"
import os, signal, socket
listener = socket.socket(socket.AF_UNIX)
listener.bind("metrics.sock")
listener.listen()
exporter = os.fork()
if not exporter:
    if listener.fileno() != 3:
        os.dup2(listener.fileno(), 3)
    os.set_inheritable(3, True)
    os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
    os.execvp("datasetfs-exporter", ["datasetfs-exporter"])
client = socket.socket(socket.AF_UNIX)
client.settimeout(120)
client.connect("metrics.sock")
client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
assert client.recv(100).startswith(b"HTTP/1.1 200 ")
os.kill(exporter, signal.SIGTERM)
assert os.waitpid(exporter, 0)[1] == 0
END
assert_fails 1 "the service manager passed 2 sockets, expected one" \
    bash -c 'LISTEN_FDS=2 LISTEN_PID=$$ exec datasetfs-exporter'
assert_fails 1 "expected a socket of a unit with 'ListenStream='" \
    bash -c 'LISTEN_FDS=1 LISTEN_PID=$$ exec datasetfs-exporter 3</dev/null'

enough_for_smoke
say "more mounts than the descriptors that it is given at first"
kill -TERM $EXPORTER
wait $EXPORTER || fail "it ended with status $?"
kept=("${program[@]}")
program=(bash -c 'ulimit -S -n 8 && exec "$@"' - "${kept[@]}")
start
asks "1 1" mnt mnt2
program=("${kept[@]}")

say "a mountpoint of any bytes"
second=$DAEMON odd=$'an "odd" \\ \n\xff'
mount_volume other "$odd"
odd_is_up() {
    ask text && grep -qF "datasetfs_up{mountpoint=\"$PWD/an \\\"odd\\\" \\\\ \\n\\\\xff\"} 1" text
}
wait_for 60 odd_is_up || fail "up: $(grep _up text)"
asks "1 1" mnt mnt2
unmount "$odd"
DAEMON=$second

say "every address"
cat >every.py <<'END'
import re, subprocess, urllib.request
exporter = subprocess.Popen(["datasetfs-exporter", "--listen", ":0"], stderr=subprocess.PIPE, text=True)
port = re.search(r":(\d+)/metrics", exporter.stderr.readline())[1]
with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=120) as answer:
    assert answer.status == 200
exporter.terminate()
assert exporter.wait() == 0
END
python3 every.py || fail "no answer over IPv4"
# Where programs take IPv6 alone unless they say otherwise.
if is_root && command -v ip >/dev/null && unshare -n true 2>/dev/null; then
    rc=0
    unshare -n bash -c '{ ip link set lo up && echo 1 >/proc/sys/net/ipv6/bindv6only; } 2>/dev/null || exit 77
        python3 every.py' || rc=$?
    [ $rc = 0 ] || [ $rc = 77 ] || fail "no answer over IPv4 with bindv6only"
fi

say "a mount that hangs"
# Both, as the supervisor would replace a server that says nothing for 30 seconds.
server=$(server_of "$first")
kill -STOP "$first" "$server"
at_exit kill -CONT "$server" "$first"
wait_for 60 is_stopped "$server" || fail "the daemon is not stopped"
kill -TERM $EXPORTER
wait_end $EXPORTER || fail "it does not end"
start --timeout 1
processes=$(pgrep -P $EXPORTER -c || true)
assert_eq "processes" "$processes" 0
for _ in 1 2 3; do
    asks "0 1" mnt mnt2
    ! grep -q "datasetfs_served_bytes_total{mountpoint=\"$PWD/mnt\"}" text || fail "it has series all the same"
done
assert_contains "the log" "$(cat exporter.log)" "mount '$PWD/mnt': it does not answer in time"
hanging() {
    pgrep -P $EXPORTER | while read -r process; do started "$process"; done | wc -l
}
mounts=$(grep -c ' fuse.datasetfs ' /proc/self/mountinfo)
[ "$(hanging)" -le $((mounts + 1)) ] || fail "$(hanging) processes ask $mounts mounts"
kill -CONT "$server" "$first"
asks "1 1" mnt mnt2 # it goes on

say "a mount that is covered, and one in two places"
# hides MOUNTPOINT: nothing is reported of it. On a busy machine the look there may be late, and then a scrape reports a
# mount that does not answer, and how long it waited for that, but nothing else.
hides() {
    is_hidden() {
        ask text
        grep -F "mountpoint=\"$PWD/$1\"" text >reported || return 0
        ! grep -vxF "datasetfs_up{mountpoint=\"$PWD/$1\"} 0" reported | grep -v '^datasetfs_exporter_mount_seconds{' ||
            fail "'$1' is reported: $(cat reported)"
        return 1
    }
    wait_for 60 is_hidden "$1"
}
if can_mount; then
    mount -t tmpfs none mnt2
    at_exit umount "$PWD/mnt2"
    hides mnt2 || fail "a mount that is covered is reported: $(cat text)"
    umount mnt2
    mount --bind mnt mnt2
    hides mnt2 || fail "what is seen there is reported as what is below it: $(cat text)"
    umount mnt2
    mkdir bound
    mount --bind mnt2 bound
    at_exit umount "$PWD/bound"
    hides bound || fail "a mount is reported twice: $(cat text)"
    umount bound
fi

say "what a scrape costs"
asks "1 1" mnt mnt2
# 1 % of a CPU is 150 ms of CPU time for a scrape each 15 s. A mount takes some 3 ms, so a busy machine does no harm.
before=$(own text cpu_seconds_total)
daemon=$(series text cpu_seconds_total mnt)
for _ in {1..9}; do ask text; done
asks "1 1" mnt mnt2
awk -v a="$before" -v b="$(own text cpu_seconds_total)" -v c="$daemon" -v d="$(series text cpu_seconds_total mnt)" \
    -v mounts="$(grep -c '^datasetfs_up{' text)" 'BEGIN {
        exporter = (b - a) * 100
        served = (d - c) * 100
        printf "a scrape of %d mounts: %.2f ms of the exporter, %.2f ms of a daemon\n", mounts, exporter, served
        exit b <= a || exporter / mounts + served > 150 }' || fail "it costs more than 1 % of a CPU each 15 s"
reaped() { ! pgrep -P $EXPORTER; }
wait_for 60 reaped || fail "processes are left of readers: $(pgrep -P $EXPORTER -a)"
[ "$(own text scrapes_total)" -ge 10 ] || fail "scrapes: $(own text scrapes_total)"

reader() { pgrep -P $EXPORTER | wc -l; }
if is_root && can_mount; then
    say "a mount whose readers cannot be killed"
    mkdir silent
    python3 "$DATASETFS_SOURCE/tests/fuse/silent.py" silent >silent.log 2>&1 &
    silent=$!
    end_process_at_exit $silent # before anything asks what is mounted there
    wait_for 60 grep -q ready silent.log || fail "no mount: $(cat silent.log)"
    for _ in 1 2 3; do
        asks "0 1" silent mnt
    done
    one() { [ "$(reader)" = 1 ]; }
    wait_for 60 one || fail "$(reader) readers of a mount that was asked three times: $(pgrep -P $EXPORTER -a)"
    stuck=$(pgrep -P $EXPORTER)
    kill -TERM $EXPORTER
    wait $EXPORTER || fail "it ended with status $?"
    [ -n "$(started "$stuck")" ] || fail "the reader did not hang"
    address=${URL#http://} before=$URL
    start --timeout 1 --listen "${address%/metrics}"
    assert_eq "the same address" "$URL" "$before"
    asks "0 1" silent mnt
    kill $silent
    wait_end $silent || fail "it cannot be killed"
    umount -l silent
    wait_end "$stuck" || fail "the reader stays"
fi

say "the end"
kill -TERM $EXPORTER
exits 0 wait $EXPORTER
start
address=${URL#http://}
assert_fails 1 "cannot listen at '${address%/metrics}': Address already in use" \
    datasetfs-exporter --listen "${address%/metrics}"
unmount mnt2
assert_fails 2 "'train:80'" datasetfs-exporter --listen train:80
assert_fails 2 "unexpected operand 'mnt'" datasetfs-exporter mnt
assert_fails 2 "0" datasetfs-exporter --timeout 0
DAEMON=$first unmount mnt
