#!/bin/bash
# SPDX-License-Identifier: MIT
# The manual has every option of --help, and --help every option of the manual; pages format without a warning, and for
# mandoc too.
. "$(dirname "$0")/../lib/common.sh"
need_command man
failed=0

# options_of_help PROGRAM [VERB]
options_of_help() {
    "$@" --help | grep -oE '^ {2,6}(-[A-Za-z], )?--[a-z-]+' | grep -oE -- '--[a-z-]+' | sort -u
}

# options_of_page PAGE: words that begin a tagged paragraph
options_of_page() {
    MANWIDTH=100 man -l "$1" 2>/dev/null | col -b | grep -E '^ +-' | sed -E 's/^( {7}[^ ].*)  .*/\1/' |
        grep -E '^ {4,16}-' | grep -oE -- '(^|[ ,])--[a-z]+[a-z-]*' | tr -d ' ,' | sort -u
}

# verbs: those of datasetfsctl, in the order of --help; nvme has a page of its own
verbs() {
    local verb
    for verb in $(verbs_of); do
        case $verb in
        nvme) ;;
        cache | export | member) verbs_of $verb | sed "s/^/$verb /" ;;
        *) echo $verb ;;
        esac
    done
}

# verbs_of [VERB]: what the help of datasetfsctl, or of this verb, lists
verbs_of() {
    datasetfsctl "$@" --help | awk '/^  [a-z]/ { print $1 }'
}

for program in mkdatasetfs datasetfs datasetfsctl datasetfsctl-nvme datasetfs-csi datasetfs-exporter datasetfs-run; do
    [ $program != datasetfs-csi ] || command -v datasetfs-csi >/dev/null || continue # where libnghttp2 is
    section=8
    [ $program != datasetfs-run ] || section=1
    page=$DATASETFS_SOURCE/man/$program.$section
    [ -f "$page" ] || fail "no man/$program.$section"
    if [ "$program" = datasetfsctl-nvme ]; then
        for verb in list inspect discover connect disconnect protect release; do
            options_of_help datasetfsctl nvme $verb
        done | sort -u >help.list
    else
        options_of_help "$program" >help.list
    fi
    if [ "$program" = datasetfsctl ]; then
        while read -r verb; do
            # shellcheck disable=SC2086
            options_of_help datasetfsctl $verb >>help.list || true # attached, dump: none but --json
            for found in "^\.BI? \"datasetfsctl ${verb}[ \"]" "^\.SS ${verb}\$"; do
                grep -qE "$found" "$page" || { echo "$page: no line '$found'"; failed=1; }
            done
        done < <(verbs)
        sort -u -o help.list help.list
    fi
    options_of_page "$page" >page.list
    [ -s help.list ] || fail "$program --help shows no option"
    if ! diff -u --label "$program --help" --label "man/$program.$section" help.list page.list; then
        failed=1
    fi
done

for page in "$DATASETFS_SOURCE"/man/*.[1-9]; do
    warnings=$(MANROFFSEQ='' MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>&1 >/dev/null)
    [ -z "$warnings" ] || { echo "$page: $warnings"; failed=1; }
    # Macros between T{ and T}: mandoc leaves them out, with their words.
    awk '/T\{$/ { cell = 1; next } /^T\}/ { cell = 0 } cell && /^[.'"'"']/ { print FILENAME ":" FNR ": " $0; bad = 1 }
        END { exit bad }' "$page" || failed=1
done
[ $failed = 0 ] || fail "manual and programs disagree"
