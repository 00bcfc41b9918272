#!/bin/bash
# SPDX-License-Identifier: MIT
# The manual has every option of --help, and --help every option of the manual, for mount options with words, range and
# default; datasetfs-kernel(7) has those that need a daemon. Pages format without a warning, and for mandoc too.
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

python3 - "$DATASETFS_SOURCE/man" <<'END' || failed=1
import re, subprocess, sys
SAMPLES = {"SIZE": "64M", "N": "5", "SECONDS": "5", "GROUP": "0", "sha256:HEX": "sha256:" + 64 * "0"}

def run(*words):
    return subprocess.run(["datasetfs", *words], text=True, capture_output=True)

def needs_daemon(form):
    name, equals, value = form.partition("=")
    value = re.split(r"[|[]", value)[0]
    return "'kernel' cannot be combined" in run("-o", f"kernel,{name}{equals}{SAMPLES.get(value, value)}").stderr

def of_page(name, begin, end):
    return open(f"{sys.argv[1]}/{name}").read().split(begin)[1].split(end)[0]

documented = {}
for paragraph in of_page("datasetfs.8", ".SH MOUNT OPTIONS\n", "\n.SH ").split(".TP\n")[1:]:
    tag, text = paragraph.split("\n", 1)
    tag = re.sub(r'^\.B[IR]? |\\f[BIRP]|\\(?=-)|[ "{}]', "", tag)
    documented |= dict.fromkeys(tag.split(","), " ".join(text.split("\n.SS ")[0].split()))
listed = {}
options = run("--help").stdout.split("\nMount options")[1]
for form, limits in re.findall(r"^  (\S+) .*?(?: \((\d.*)\))?$", options, re.M):
    name = form.removeprefix("[no]")
    listed |= dict.fromkeys([name] if name == form else [name, "no" + name], limits)
wrong = [f"no paragraph of '{form}'" for form in listed if form not in documented]
wrong += [f"no '{limits}' for '{form}'" for form, limits in listed.items()
          if limits not in documented.get(form, limits)]
wrong += [f"'{form}', which the program does not know" for form in documented if form not in listed
          and ": unknown" in run("-o", form).stderr]
refused = set(re.findall(r"(\w+) ,", of_page("datasetfs-kernel.7", "options for these features\n", "\nare refused")))
refused ^= {form.split("=")[0] for form in listed if needs_daemon(form)}
wrong += [f"datasetfs-kernel.7: '{name}', in the list or not" for name in sorted(refused)]
if wrong:
    sys.exit("man/datasetfs.8: " + ", ".join(wrong))
END

for page in "$DATASETFS_SOURCE"/man/*.[1-9]; do
    warnings=$(MANROFFSEQ='' MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>&1 >/dev/null)
    [ -z "$warnings" ] || { echo "$page: $warnings"; failed=1; }
    # Macros between T{ and T}: mandoc leaves them out, with their words.
    awk '/T\{$/ { cell = 1; next } /^T\}/ { cell = 0 } cell && /^[.'"'"']/ { print FILENAME ":" FNR ": " $0; bad = 1 }
        END { exit bad }' "$page" || failed=1
done
[ $failed = 0 ] || fail "manual and programs disagree"
