#!/bin/bash
# SPDX-License-Identifier: MIT
# --help: on stdout, status 0, at most 80 columns. --version: one line. A usage error: one line on stderr, status 2;
# of a program that becomes another, 125.
. "$(dirname "$0")/../lib/common.sh"

programs="mkdatasetfs datasetfs datasetfsctl datasetfs-exporter datasetfs-run"
! command -v datasetfs-csi >/dev/null || programs+=" datasetfs-csi" # where libnghttp2 is
for program in $programs; do
    usage=2
    [ $program != datasetfs-run ] || usage=125
    for words in --help -h; do
        "$program" $words >help.out 2>help.err || fail "$program $words: status $?"
        [ -s help.out ] || fail "$program $words prints nothing"
        [ ! -s help.err ] || fail "$program $words writes to stderr: $(cat help.err)"
    done
    expand help.out | awk 'length($0) > 80 { print "too wide: " $0; bad = 1 } END { exit bad }' ||
        fail "$program --help is wider than 80 columns"
    grep -q "^Usage: $program " help.out || fail "$program --help does not begin with its usage"
    ! grep -nE '[[:blank:]]$' help.out || fail "$program --help has blanks at line ends"

    assert_eq "$program --version" "$("$program" --version | wc -l)" 1
    [[ $("$program" --version) =~ ^$program\ [0-9]+\.[0-9]+\.[0-9]+$ ]] ||
        fail "$program --version: $("$program" --version)"

    assert_fails $usage "--no-such-option" "$program" --no-such-option
    assert_fails $usage "-Z" "$program" -Z
    case $program in datasetfs-exporter | datasetfs-csi) continue ;; esac # need no argument, and serve
    assert_fails $usage "" "$program"
    "$program" >none.out 2>none.err </dev/null || true
    [ ! -s none.out ] || fail "$program without arguments writes to stdout"
done

# Every verb of datasetfsctl explains itself.
for verb in list status follow detach verify scrub stat ls cat extract describe plan dump warm; do
    assert_contains "datasetfsctl --help" "$(datasetfsctl --help)" "$verb"
    assert_fails 2 "" datasetfsctl "$verb"
done
assert_fails 2 "no-such-verb" datasetfsctl no-such-verb
for verb in inspect discover connect disconnect protect release; do
    assert_contains "datasetfsctl nvme --help" "$(datasetfsctl nvme --help)" "$verb"
    assert_fails 2 "datasetfsctl nvme $verb --help" datasetfsctl nvme "$verb"
    datasetfsctl nvme "$verb" --help | expand | awk 'length($0) > 110 { exit 1 }' ||
        fail "nvme $verb --help is too wide"
done
assert_fails 2 "no-such-verb" datasetfsctl nvme no-such-verb
assert_fails 2 "expected a verb" datasetfsctl nvme
