#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=asan timeout=240
# datasetfsctl top in a real terminal: columns, units and figures in 80 columns and in a wide one, which are what was
# read; other sizes while it runs; sorting; a mount that hangs keeps neither the clock nor the keys; however it ends,
# the terminal is as before.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse
need_command tmux python3
export LC_ALL=C.UTF-8

mkdir -p source/files small
for i in {1..60}; do head -c 100000 /dev/urandom >source/files/$i; done
echo 1 >small/file
pack volume source --label v1
pack volume-b small --label other
mkdir m n
mount_volume volume m -o readahead=off
first=$DAEMON
server=$SERVER
mount_volume volume-b n

# terminal COLUMNS ROWS COMMAND…: a shell in it runs the command, between what the terminal was and is
cat >session.sh <<'END'
trap : INT QUIT # keys of the terminal are for the command
echo "before it"
stty -a >before
"$@"
echo $? >status
stty -a >after
echo "after it"
read -r _
END
tmux() {
    command tmux -u -S ./tmux.socket -f ./tmux.conf "$@"
}
echo "set -g exit-empty off" >tmux.conf # one server for all that follows
terminal() {
    rm -f before after status
    tmux new-session -d -x "$1" -y "$2" "$(printf '%q ' bash "$PWD/session.sh" "${@:3}")" || fail "tmux"
}
at_exit tmux kill-server
# screen: as it is when nobody is drawing
screen() {
    local seen='' again
    for _ in {1..20}; do
        again=$(tmux capture-pane -p)
        [ "$again" != "$seen" ] || break
        seen=$again
    done
    echo "$again"
}
# shows WORDS: in one line of the screen, with single blanks
shows() {
    screen | tr -s ' ' | grep -qF -- "$1"
}
# until_shows WORDS
until_shows() {
    wait_for 60 shows "$1" || fail "no '$1' on the screen: $(screen)"
}
# row PATTERN: its words
row() {
    screen | grep -- "$1" | head -n 1 | tr -s ' '
}
# read_all: each file once, past the page cache
read_all() {
    python3 - <<'END'
import mmap, os
buffer = mmap.mmap(-1, 1 << 20)
for name in os.listdir("m/files"):
    fd = os.open(f"m/files/{name}", os.O_RDONLY | os.O_DIRECT)
    assert os.readv(fd, [buffer]) == 100000
    os.close(fd)
END
}

# ended STATUS: the program did, and the terminal is as before
ended() {
    wait_for 60 test -s status || fail "it goes on: $(screen)"
    until_shows "after it"
    assert_eq "status" "$(cat status)" "$1"
    cmp before after || fail "the terminal is not as before: $(diff before after)"
    shows "before it" || fail "what was on the screen is gone: $(screen)"
    assert_eq "the cursor" "$(tmux display-message -p '#{cursor_flag}')" 1
    assert_eq "another screen" "$(tmux display-message -p '#{alternate_on}')" 0
    tmux kill-session
}

say "80 columns"
terminal 80 24 datasetfsctl top --interval 2 m n
until_shows " 2 mounts, 0 with trouble every 2 s, by files"
[ "$(tmux display-message -p '#{cursor_flag} #{alternate_on}')" = "0 1" ] || fail "no screen of its own"
assert_eq "columns" "$(screen | sed -n 4p)" \
    "MOUNT       VERSION SINCE  FILES   DATA   p50   p99 READS CPU us STALLS STATE"
assert_eq "units" "$(screen | sed -n 5p | sed 's/ *$//')" \
    "                              /s   MB/s    ms    ms /file  /file"
assert_eq "the last line" "$(screen | sed -n 24p)" "q quit  s sort by another column"
until_shows " other "

# figures: of a line with all that was read between two looks; a look in the middle of it means to try again
figures() {
    local deadline=$((SECONDS + 20)) words
    read_all
    while [ $SECONDS -lt $deadline ]; do
        read -ra words <<<"$(row '/m v1')"
        # files a second, of 60 in two seconds
        if [[ ${words[3]:-0} == 2[89]* || ${words[3]:-0} == 30* ]]; then
            echo "${words[*]}"
            return 0
        fi
        [[ ${words[3]:-0} == 0 || ${words[3]:-0} == - ]] || [ $((deadline - SECONDS)) -gt 15 ] || return 1
        sleep 0.1
    done
    return 1
}
for _ in {1..40}; do
    found=$(figures) && break
done
[ -n "$found" ] || fail "60 files in 2 s were never seen: $(screen)"
say "$found"
# MOUNT VERSION SINCE FILES DATA p50 p99 READS CPU STALLS STATE
python3 - "$found" <<'END' || fail "not what was read: $found"
import sys
mount, version, since, files, data, p50, p99, reads, cpu, stalls, state = sys.argv[1].split()
assert mount.endswith("/m") and version == "v1" and state == "ok" and stalls == "0", mount
assert since[-1] in "smh" and int(since[:-1]) >= 0, since
assert abs(float(data) - float(files) * 0.1) < 0.02 * float(data) + 0.01, (files, data)  # of 100,000 bytes each
assert 0 < float(p50) <= float(p99), (p50, p99)
assert float(reads) == 1, reads
assert float(cpu) > 0, cpu
END

say "sorting"
tmux send-keys s
until_shows "every 2 s, by data"
for name in latency reads cpu stalls mount; do
    tmux send-keys s
    until_shows "every 2 s, by $name"
done
tmux send-keys s
until_shows "every 2 s, by files"

say "other sizes"
tmux resize-window -x 150 -y 12
until_shows "p50 p90 p99 p99.9 READS CPU us DEVICE CPU HELD LOCAL FLIGHT PAST STALLS STATE"
until_shows "MB/s ms ms ms ms /file /file MB/s % % % now now"
shows "$PWD/m" || [ ${#PWD} -gt 30 ] || fail "a path that has room: $(screen)"
assert_eq "the last line" "$(screen | sed -n 12p)" "q quit  s sort by another column"
tmux resize-window -x 80 -y 7
wait_for 60 shows "lines 1 to 1 of 2" || fail "no room for a line: $(screen)"
before=$(screen | sed -n 6p)
tmux send-keys Down
until_shows "lines 2 to 2 of 2"
[ "$(screen | sed -n 6p)" != "$before" ] || fail "the same line: $(screen)"
tmux send-keys Up
until_shows "lines 1 to 1 of 2"
tmux resize-window -x 20 -y 3
is_narrow() {
    [[ $(screen | sed -n 1p) =~ ^"datasetfsctl top  "[0-9]{2}$ ]] && shows "q quit s sort up/d"
}
wait_for 60 is_narrow || fail "20 columns: $(screen)"
tmux resize-window -x 80 -y 24
until_shows "CPU us STALLS STATE"

say "a mount that hangs"
kill -STOP "$first" "$server" # the one would replace the other
at_exit kill -CONT "$first" "$server"
until_shows " silent"
until_shows "it has not answered for"
until_shows "2 mounts, 1 with trouble"
[[ $(screen | sed -n 6p) == *silent* ]] || fail "it is not the first: $(screen)"
# other_is_ok: a mount that has no processor for half a second is silent in a sample
other_is_ok() {
    [ "$(row '/n other' | awk '{ print $NF }')" = ok ]
}
wait_for 60 other_is_ok || fail "the other one: $(screen)"
tmux send-keys s
until_shows "by data"
now=$(row "datasetfsctl top" | cut -d ' ' -f 3)
clock_goes_on() {
    [ "$(row "datasetfsctl top" | cut -d ' ' -f 3)" != "$now" ]
}
wait_for 60 clock_goes_on || fail "it waits for the mount: $(screen)"

say "q, while it hangs"
tmux send-keys q
ended 0
kill -CONT "$first" "$server"

say "signals"
ulimit -c 0
# process: number of the one that has the terminal; those that look at mounts have none
process() {
    pgrep -x datasetfsctl -s "$(tmux display-message -p '#{pane_pid}')" || fail "no datasetfsctl in the terminal"
}
# by KEY|SIGNAL STATUS
by() {
    terminal 80 24 datasetfsctl top m
    until_shows "q quit"
    until_shows "/m v1"
    if [ "$1" = C-c ]; then
        tmux send-keys "$1"
    else
        kill "-$1" "$(process)"
    fi
    ended "$2"
}
by C-c 130
by TERM 143
by HUP 129
by QUIT 131
by USR1 138
by ABRT 134

say "a terminal that nobody knows, and one that goes away"
terminal 120 24 env TERM=nonsense datasetfsctl top m
until_shows "the terminal 'nonsense' is not known here, use --batch or set TERM"
ended 1
# The helper that looks for leaks would get the same SIGHUP, and is waited for.
terminal 80 24 env ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0" datasetfsctl top m
until_shows "/m v1"
top=$(process)
tmux kill-session
wait_end "$top" || fail "it goes on without a terminal"
DAEMON=$first
unmount m
