# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# A program that holds a handle of libdatasetfs and does what it is told; tests/library/client.c has its commands.

# client NAME [COMMAND…]: starts it, as the command says (setpriv and the like)
client() {
    local name=$1
    shift
    mkfifo "$name.to" "$name.from"
    chmod 666 "$name.to" "$name.from"
    "$@" "${CLIENT_PROGRAM:-$DATASETFS_BUILD/tests/library/library-client}" <"$name.to" >"$name.from" 2>"$name.err" &
    printf -v "CLIENT_$name" %s $!
    eval "exec {TO_$name}>$name.to {FROM_$name}<$name.from"
}

# ask NAME COMMAND: without waiting
ask() {
    local to=TO_$1
    echo "$2" >&"${!to}"
}

# answer NAME [SECONDS]: ANSWER is what it says to what it was asked; it has ended, or there is none after so long
answer() {
    local from=FROM_$1
    IFS= read -r ${2:+-t "$2"} -u "${!from}" ANSWER || fail "no answer of client $1: $(cat "$1.err")"
}

# tell NAME COMMAND: ANSWER is what it says
tell() {
    ask "$1" "$2"
    answer "$1"
}

# told NAME COMMAND ANSWER: and says this
told() {
    tell "$1" "$2"
    ANSWER=${ANSWER% }
    assert_eq "$1: $2" "$ANSWER" "$3"
}

# told_part NAME COMMAND PART: and says something with this in it
told_part() {
    tell "$1" "$2"
    assert_contains "$1: $2" "$ANSWER" "$3"
}

# end_client NAME
end_client() {
    local to=TO_$1 from=FROM_$1 process=CLIENT_$1 rc=0
    echo quit >&"${!to}" # those that were started later have this end open as well
    eval "exec {$to}>&- {$from}<&-"
    wait "${!process}" || rc=$?
    [ $rc = 0 ] || fail "client $1 ended with status $rc: $(cat "$1.err")"
}
