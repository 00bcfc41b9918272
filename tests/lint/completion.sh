#!/bin/bash
# SPDX-License-Identifier: MIT
# Bash completion offers every option and verb of --help, the values of options, and files.
. "$(dirname "$0")/../lib/common.sh"
. "$DATASETFS_SOURCE/contrib/bash-completion/datasetfs"

# completed WORD…: what is offered for the last word, on one line
completed() {
    COMP_WORDS=("$@")
    COMP_CWORD=$(($# - 1))
    COMPREPLY=()
    "$(complete -p "$1" | sed 's/.* -F \([a-z_]*\) .*/\1/')"
    printf '%s\n' "${COMPREPLY[@]}" | LC_ALL=C sort | tr '\n' ' '
}

for program in mkdatasetfs datasetfs datasetfs-csi datasetfs-exporter datasetfs-run; do
    [ $program != datasetfs-csi ] || command -v datasetfs-csi >/dev/null || continue # where libnghttp2 is
    for option in $("$program" --help | grep -oE '^ {2,6}(-[A-Za-z], )?--[a-z-]+' | grep -oE -- '--[a-z-]+'); do
        assert_contains "$program -<TAB>" " $(completed $program -)" " $option "
    done
done
for verb in list status top follow attach detach attached verify scrub stat ls cat extract describe plan dump current \
    remove compact cache warm export member nvme; do
    assert_contains "datasetfsctl <TAB>" " $(completed datasetfsctl '')" " $verb "
done
assert_eq "datasetfsctl nvme <TAB>" "$(completed datasetfsctl nvme '')" \
    "--help connect disconnect discover inspect list protect release "
assert_eq "datasetfsctl cache <TAB>" "$(completed datasetfsctl cache '')" "--help drop list "
assert_eq "datasetfsctl member <TAB>" "$(completed datasetfsctl member '')" "--help add grow list rebalance replace "
assert_eq "datasetfsctl export <TAB>" "$(completed datasetfsctl export '')" "--help erofs signatures tar "
assert_contains "datasetfsctl nvme connect --q<TAB>" " $(completed datasetfsctl nvme connect --q)" " --queue-size "
assert_eq "datasetfsctl nvme connect --ctrl-loss-tmo o<TAB>" \
    "$(completed datasetfsctl nvme connect --ctrl-loss-tmo o)" "off "
assert_contains "datasetfsctl verify --sh<TAB>" " $(completed datasetfsctl verify --sh)" " --shard "
assert_contains "datasetfsctl describe --d<TAB>" " $(completed datasetfsctl describe --d)" " --diff "
assert_eq "datasetfsctl plan --reads s<TAB>" "$(completed datasetfsctl plan --reads s)" "shard "
assert_eq "datasetfsctl top --sort la<TAB>" "$(completed datasetfsctl top --sort la)" "latency "
assert_eq "datasetfsctl ver<TAB>" "$(completed datasetfsctl ver)" "verify "
assert_eq "mkdatasetfs --compress a<TAB>" "$(completed mkdatasetfs --compress a)" "auto "
assert_eq "mkdatasetfs --progress =j<TAB>" "$(completed mkdatasetfs --progress = j)" "json "
# One argument is several words to readline, which replaces the last of them.
assert_eq "datasetfs -o <TAB>" "$(completed datasetfs -o '' | wc -w)" 52
assert_eq "datasetfsctl attach -o no<TAB>" "$(completed datasetfsctl attach -o no)" \
    "noexec nosuid nosupervisor nosymfollow notify=auto notify=entries notify=epoch noversions "
for option in -o --options '--options ='; do
    read -ra words <<<"datasetfs $option"
    assert_eq "datasetfs $option io=t<TAB>" "$(completed "${words[@]}" io = t)" "threads "
    assert_eq "datasetfs $option io=<TAB>" "$(completed "${words[@]}" io =)" "auto threads uring "
    assert_eq "datasetfs $option io=auto,cha<TAB>" "$(completed "${words[@]}" io = auto,cha)" \
        "auto,channel=auto auto,channel=dev auto,channel=ring "
    assert_eq "datasetfs $option allow_other,ver<TAB>" "$(completed "${words[@]}" allow_other,ver)" \
        "allow_other,verify=always allow_other,verify=never allow_other,version= allow_other,versions "
    assert_eq "datasetfs $option digest=sha256:0a,w<TAB>" \
        "$(completed "${words[@]}" digest = sha256 : 0a,w)" "0a,window=auto 0a,window=off 0a,workers= "
    assert_contains "datasetfs $option <TAB>" "$(completed "${words[@]}" '')" "version= "
done
assert_eq "mkdatasetfs --compress zstd:1<TAB>" "$(completed mkdatasetfs --compress zstd : 1)" "1 19 "
assert_eq "mkdatasetfs --protect m<TAB>" "$(completed mkdatasetfs --protect m)" "mirror:2 mirror:3 "
assert_eq "mkdatasetfs --protect mirror:<TAB>" "$(completed mkdatasetfs --protect mirror :)" "2 3 "
assert_eq "mkdatasetfs --degraded=<TAB>" "$(completed mkdatasetfs --degraded =)" "half "
mkdir folder
: >file
assert_eq "datasetfs -o io=auto f<TAB>" "$(completed datasetfs -o io = auto f)" "file folder "
assert_eq "mkdatasetfs f<TAB>" "$(completed mkdatasetfs f)" "file folder "

# Labels come from the volume that the line names, wherever it names it.
for label in v1 nightly:1 nightly:2; do pack vol:ume folder --label $label --allow-empty; done
all="nightly:1 nightly:2 v1 " volume=(vol : ume)
for verb in current remove switch describe plan dump verify 'export tar' 'export erofs'; do
    assert_eq "datasetfsctl $verb VOLUME <TAB>" "$(completed datasetfsctl $verb "${volume[@]}" '')" "$all"
    assert_eq "datasetfsctl $verb f<TAB>" "$(completed datasetfsctl $verb f)" "file folder "
done
assert_eq "datasetfsctl describe VOLUME --diff <TAB>" \
    "$(completed datasetfsctl describe "${volume[@]}" --diff '')" "$all"
assert_eq "datasetfsctl describe --limit 3 --json --diff v1 VOLUME <TAB>" \
    "$(completed datasetfsctl describe --limit 3 --json --diff v1 "${volume[@]}" '')" "$all"
assert_eq "datasetfsctl describe --diff=n<TAB>" \
    "$(completed datasetfsctl describe "${volume[@]}" --diff = n)" "nightly:1 nightly:2 "
assert_eq "datasetfsctl describe VOLUME nightly:<TAB>" \
    "$(completed datasetfsctl describe "${volume[@]}" nightly :)" "1 2 "
assert_eq "datasetfsctl verify VOLUME v1 nightly:2<TAB>" \
    "$(completed datasetfsctl verify "${volume[@]}" v1 nightly : 2)" "2 "
assert_eq "datasetfsctl export tar VOLUME v1 f<TAB>" \
    "$(completed datasetfsctl export tar "${volume[@]}" v1 f)" "file folder "
assert_eq "datasetfs VOLUME -o version=<TAB>" "$(completed datasetfs "${volume[@]}" -o version =)" "$all"
assert_eq "mkdatasetfs VOLUME --trust-mtime=v<TAB>" "$(completed mkdatasetfs "${volume[@]}" --trust-mtime = v)" "v1 "
assert_eq "datasetfsctl describe file <TAB>" "$(completed datasetfsctl describe file '' 2>&1)" " "
COMP_WORDS=(datasetfs -o version '=' '' "${volume[@]}") COMP_CWORD=4
_datasetfs
assert_eq "datasetfs -o version=<TAB> VOLUME" "${COMPREPLY[*]}" "v1 nightly:1 nightly:2"

assert_eq "datasetfs-exporter --listen 127<TAB>" "$(completed datasetfs-exporter --listen 127)" "127.0.0.1:9570 "

# datasetfs-run: its options up to the program, then the program, then that program's own words.
assert_eq "datasetfs-run --c<TAB>" "$(completed datasetfs-run --c)" "--compat "
assert_eq "datasetfs-run --report=f<TAB>" "$(completed datasetfs-run --report = f)" "file folder "
assert_contains "datasetfs-run --compat mkdatas<TAB>" " $(completed datasetfs-run --compat mkdatas)" " mkdatasetfs "
assert_contains "datasetfs-run --report=file -- mkdatas<TAB>" \
    " $(completed datasetfs-run --report = file -- mkdatas)" " mkdatasetfs "
assert_eq "datasetfs-run cat f<TAB>" "$(completed datasetfs-run cat f)" "file folder "
_command_offset() {
    COMPREPLY=("offset $1")
}
assert_eq "datasetfs-run --compat cat -<TAB>" "$(completed datasetfs-run --compat cat -)" "offset 2 "
assert_eq "datasetfs-run --report=file cat -x<TAB>" "$(completed datasetfs-run --report = file cat -x)" "offset 4 "

# The programs know every option that the completion file lists.
{ mkdatasetfs --help; datasetfs --help; datasetfs-exporter --help; datasetfs-run --help; } >help.all
if command -v datasetfs-csi >/dev/null; then
    assert_eq "datasetfs-csi --config f<TAB>" "$(completed datasetfs-csi --config f)" "file folder "
    datasetfs-csi --help >>help.all
else
    echo ' --config --kubelet --node' >>help.all
fi
for verb in verify scrub stat extract attach describe plan switch top compact warm 'nvme connect'; do
    datasetfsctl $verb --help >>help.all
done
while read -r option; do
    grep -qE -- "(^|[ ,])$option([ =[]|\$)" help.all || fail "the completion knows $option, the programs do not"
done < <(grep -oE '^    [^)]*\) (_datasetfs|COMPREPLY)' "$DATASETFS_SOURCE/contrib/bash-completion/datasetfs" |
    grep -oE -- '--[a-z-]+')
