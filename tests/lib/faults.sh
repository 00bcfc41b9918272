# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# A program that changes a volume, with its Nth allocation, read, write or flush failing: one clear line and exit 1, and the
# volume is what it was; or, where the failure did not matter, a volume that verifies. base.vol is the volume before; the
# program changes its copy work.vol.

cc -shared -fPIC -O1 -D_GNU_SOURCE "$LIB/fault.c" -o fault.so || fail "fault.c does not compile"
_survivable=

# faults_of REASON DONE COMMAND…: what is run, the pattern of its line on standard error, and words that it prints when it
# succeeds
faults_of() {
    _reason=$1
    _done=$2
    _program=("${@:3}")
    _base=$(sha256sum <base.vol)
}

# survivable KIND: it is no mistake when all failures of that kind are survived
survivable() {
    _survivable=$1
}

# injected KIND N [VAR=VALUE…]: runs the program with that call failing, none with N = 0; sets rc
injected() {
    cp base.vol work.vol
    rc=0
    env FAULT_KIND="$1" FAULT_AT="$2" FAULT_COUNT="$PWD/count" FAULT_VOLUME="$PWD/work.vol" "${@:3}" \
        LD_PRELOAD="$PWD/fault.so" "${_program[@]}" >out 2>err || rc=$?
}

# every KIND STEP [VAR=VALUE…]: each call of the kind in turn; with --all the first 60, then every STEP-th, else a quarter of that
every() {
    local what=$1 step=$(($2 * 4)) first=15 total n failed=0
    [ "$DATASETFS_FULL" = 0 ] || step=$2 first=60
    injected "$what" 0 "${@:3}"
    [ $rc = 0 ] || fail "counting run: exit $rc: $(cat err)"
    total=$(cat count)
    [ "$total" -gt 0 ] || fail "no call of kind $what was counted"
    for ((n = 1; n <= total; n += n < first ? 1 : step)); do
        injected "$what" "$n" "${@:3}"
        case $rc in
        0) assert_contains "$what $n" "$(cat out)" "$_done"
           datasetfsctl verify work.vol >verify.log 2>&1 || fail "$what $n: exit 0 but: $(cat verify.log)" ;;
        1) failed=$((failed + 1))
           [ "$(wc -l <err)" = 1 ] || fail "$what $n: not one line: $(cat err)"
           grep -q "$_reason" err || fail "$what $n: no reason: $(cat err)"
           [ "$(sha256sum <work.vol)" = "$_base" ] || fail "$what $n: the volume changed after: $(cat err)" ;;
        *) fail "$what $n: exit $rc: $(cat err)" ;;
        esac
    done
    [ $failed -gt 0 ] || [ "$what" = "$_survivable" ] || fail "no failure of kind $what was noticed"
    say "$what ${*:3}: $total calls, $failed injected failures reported"
}
