# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# A program that changes a volume, with its Nth allocation, read, write or flush failing: one clear line and exit 1, and
# the volume is what it was; or, from the write of its superblock slot on, a line that says what is in force, or that it
# is not known; or, where the failure did not matter, a volume that verifies. base.vol is the volume before; the program
# changes its copy work.vol, and tree is a source to publish from. A volume of several members: base.vol.NAME of each.

cc -shared -fPIC -O1 -D_GNU_SOURCE "$LIB/fault.c" -o fault.so || fail "fault.c does not compile"
_survivable=
_seed=${SEED:-$RANDOM}
say "SEED=$_seed"
RANDOM=$_seed
_parts=("")
_in_force='; (the change is in force, but a power loss may take it back|'
_in_force+='published, degraded: the change is in force, but perhaps not on members? [0-9, ]+)$'

# of_members NAME…: the volume has these members
of_members() {
    _parts=("${@/#/.}")
}

# parts PATH: the files of base.vol or work.vol
parts() {
    printf '%s\n' "${_parts[@]/#/$1}"
}

# named PATH: what the volume is called
named() {
    parts "$1" | paste -sd,
}

# contents PATH: a sum of what is in its files
contents() {
    local part
    for part in $(parts "$1"); do cat "$part"; done | sha256sum
}

# faults_of REASON DONE COMMAND…: what is run, the pattern of its line on standard error,
# and words that it prints when it succeeds
faults_of() {
    _reason=$1
    _done=$2
    _program=("${@:3}")
    _base=$(contents base.vol)
}

# survivable KIND: it is no mistake when all failures of that kind are survived
survivable() {
    _survivable=$1
}

# restore: work.vol is base.vol again
restore() {
    local part
    for part in "${_parts[@]}"; do cp "base.vol$part" "work.vol$part"; done
}

# injected KIND N [VAR=VALUE…]: runs the program with that call failing, none with N = 0; sets rc. A degraded change
# names first the members that it leaves behind; err has what comes after that.
injected() {
    restore
    rc=0
    env FAULT_KIND="$1" FAULT_AT="$2" FAULT_COUNT="$PWD/count" FAULT_VOLUME="$(named "$PWD/work.vol")" "${@:3}" \
        LD_PRELOAD="$PWD/fault.so" "${_program[@]}" >out 2>err || rc=$?
    sed -i '/ is missing and becomes stale by this change; /d' err
}

# signalled SIGNAL LINE: the program gets it before its first flush of the volume; it ends by that signal, and the
# volume is what it was
signalled() {
    local program rc=0
    restore
    env --default-signal=INT,QUIT FAULT_KIND=flush FAULT_AT=1 FAULT_STOP=1 FAULT_VOLUME="$(named "$PWD/work.vol")" \
        LD_PRELOAD="$PWD/fault.so" "${_program[@]}" >out 2>err &
    program=$!
    wait_for 20 is_stopped $program || fail "it does not stop: $(cat err)"
    kill -"$1" $program
    kill -CONT $program
    wait $program || rc=$?
    assert_eq "status after SIG$1" $rc $((128 + $(kill -l "$1")))
    assert_eq "the line after SIG$1" "$(cat err)" "$2"
    undone "SIG$1"
}

# held VOLUME: its versions and which is current, without what depends on the time
held() {
    datasetfsctl list --json "$1" | python3 -c '
import json, sys
listed = json.load(sys.stdin)
print(listed["current"], *((v["label"], v["sequence"], v["uuid"], v["digest"]) for v in listed["versions"]))'
}

# clean VOLUME WHAT
clean() {
    datasetfsctl verify "$1" >verify.log 2>&1 || fail "$2: $(cat verify.log)"
}

# published_next WHAT: somebody publishes, and succeeds
published_next() {
    mkdatasetfs --progress none --label next "$(named work.vol)" tree >next.out 2>&1 ||
        fail "$1: the next publish: $(cat next.out)"
    clean "$(named work.vol)" "$1: after the next publish"
}

# undone WHAT: the volume is what it was: of one member byte by byte, of several in what it holds, since their files
# have free space inside
undone() {
    if [ ${#_parts[@]} = 1 ]; then
        [ "$(contents work.vol)" = "$_base" ] || fail "$1: the volume changed after: $(cat err)"
        return
    fi
    assert_eq "$1: what is in force after: $(cat err)" "$(held "$(named work.vol)")" "$_before"
    clean "$(named work.vol)" "$1"
    published_next "$1"
    ! grep -q "did not finish" next.out || fail "$1: something stayed: $(cat next.out)"
}

# decided WHAT: after a failure the volume is what it was; or it is said that it may not be, and then it holds all of
# the state before or all of the one after, the next publish says that somebody did not finish, and works
decided() {
    local now
    if ! grep -qE "; (the|published, degraded: the) change " err; then
        undone "$1"
        return
    fi
    undecided=$((undecided + 1))
    now=$(held "$(named work.vol)")
    if grep -qE "$_in_force" err; then
        assert_eq "$1: what is in force" "$now" "$_after"
    else
        grep -q "; the change may be in force or not, 'datasetfsctl list' shows which$" err || fail "$1: $(cat err)"
        [ "$now" = "$_before" ] || assert_eq "$1: what may be in force" "$now" "$_after"
    fi
    clean "$(named work.vol)" "$1"
    published_next "$1"
    assert_contains "$1: the next publish" "$(cat next.out)" "a publisher did not finish: process"
}

# one N COMMAND…: of each(), with that call failing, none with N = 0; sets rc
one() {
    fresh
    rc=0
    FAULT_KIND=$kind FAULT_AT=$1 FAULT_COUNT=$PWD/count FAULT_VOLUME=$PWD/v.vol LD_PRELOAD=$PWD/fault.so \
        "${@:2}" >said 2>err || rc=$?
}

# each STATUS PATTERN COMMAND…: a program that reads v.vol and changes no volume, with each of its allocations, then of
# its reads failing in turn: one line of that pattern and this status (A|B: or that), or it did what
# it should. The test has the functions fresh: before each run; complete: what is there when nothing failed;
# remains WHAT: what may be there when something did.
each() {
    local status=$1 pattern=$2 kind rc total n failed
    shift 2
    for kind in alloc read; do
        failed=0
        one 0 "$@"
        assert_eq "status without a failure" $rc 0
        complete || fail "$kind: something else"
        total=$(cat count)
        turns "$total" 1
        for n in "${TURNS[@]}"; do
            one "$n" "$@"
            if [ $rc = 0 ]; then
                complete || fail "$kind $n: something else"
                continue
            fi
            failed=$((failed + 1))
            [[ $rc =~ ^($status)$ ]] || fail "$kind $n: status $rc: $(cat err)"
            assert_eq "lines of $kind $n" "$(grep -c "$pattern" err) $(wc -l <err)" "1 1"
            remains "$kind $n"
        done
        noticed $failed $kind "$total"
        say "$kind: $failed failures of $total"
    done
}

# turns TOTAL STEP: which of so many calls are to fail, one run for each, into TURNS: with --all the first 60, then
# every STEP-th; else ten of them, from a random one on
turns() {
    local apart=$((($1 + 9) / 10)) begin
    begin=$((RANDOM % apart + 1))
    mapfile -t TURNS < <(seq $begin $apart "$1")
    [ "$DATASETFS_FULL" = 0 ] || mapfile -t TURNS < <(seq $(($1 < 60 ? $1 : 60)); seq 61 "$2" "$1")
}

# noticed FAILED KIND TOTAL: at least one of those was, or some calls had no turn
noticed() {
    [ "$1" -gt 0 ] || [ ${#TURNS[@]} -lt "$3" ] || fail "no failure of kind $2 was noticed"
}

# every KIND STEP [VAR=VALUE…]: each call of the kind in turn
every() {
    local what=$1 total n failed=0 undecided=0
    injected "$what" 0 "${@:3}"
    [ $rc = 0 ] || fail "counting run: exit $rc: $(cat err)"
    total=$(cat count)
    [ "$total" -gt 0 ] || fail "no call of kind $what was counted"
    _before=$(held "$(named base.vol)")
    _after=$(held "$(named work.vol)")
    turns "$total" "$2"
    for n in "${TURNS[@]}"; do
        injected "$what" "$n" "${@:3}"
        case $rc in
        0) assert_contains "$what $n" "$(cat out)" "$_done"
           clean "$(named work.vol)" "$what $n: exit 0 but" ;;
        1) failed=$((failed + 1))
           [ "$(wc -l <err)" = 1 ] || fail "$what $n: not one line: $(cat err)"
           grep -q "$_reason" err || fail "$what $n: no reason: $(cat err)"
           decided "$what $n" ;;
        *) fail "$what $n: exit $rc: $(cat err)" ;;
        esac
    done
    [ "$what" = "$_survivable" ] || noticed $failed "$what" "$total"
    say "$what ${*:3}: $total calls, $failed injected failures reported, $undecided from the superblock slot on"
}
