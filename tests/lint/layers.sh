#!/bin/bash
# SPDX-License-Identifier: MIT
# The architecture as a test: which layer may include which, no circle of includes, functions called after their
# files, the one home of each library, the map in src/README.md, what lies at the top of the tree.
. "$(dirname "$0")/../lib/common.sh"
cd "$DATASETFS_SOURCE"
failed=0

top='src|include|mkfs|tools|tests|contrib|man|meson\.build|meson_options\.txt|README\.md|LICENSE|CHANGELOG\.md'
if git ls-files 2>/dev/null | cut -d/ -f1 | sort -u | grep -vxE "\..*|$top"; then
    echo "^ does not belong at the top of the tree: expected ${top//\\/}"
    failed=1
fi

rows=()
# may FOLDER ALLOWED…: quoted includes in FOLDER name only files of these folders; '.': or of the program's own, above
may() {
    local folder=$1 allowed
    shift
    [ -d "$folder" ] || fail "no folder $folder"
    rows+=("$folder")
    allowed=$(printf '%s/|' "$@")
    allowed=${allowed/.\//} # as an alternative that is empty
    if grep -nE '^[[:space:]]*#[[:space:]]*include "' "$folder"/*.[ch] |
        grep -vE "#[[:space:]]*include \"(${allowed%|})[a-z0-9_]+\.h\""; then
        echo "^ $folder may include only: $*"
        failed=1
    fi
}

# home HEADER FILE…: only these may include HEADER
home() {
    local header=$1 allowed
    shift
    allowed=$(IFS='|'; echo "$*")
    if grep -rnE "#[[:space:]]*include <$header>" src mkfs tools --include='*.[ch]' | grep -vE "^($allowed):"; then
        echo "^ <$header> belongs to $* only"
        failed=1
    fi
    grep -rqE "#[[:space:]]*include <$header>" "$@" || {
        echo "<$header> is not included by $* any more: correct this test"
        failed=1
    }
}

# The rooms of folders that others use as a whole.
base="base base/text base/thread base/program"
image="image/sums image/members image/names image image/catalogue"
device="device/nvme device"
lib="lib lib/shuffle lib/direct/daemon lib/direct lib/mounted lib/api"
volume="volume/space volume/transaction volume volume/compaction volume/replacement"
# shellcheck disable=SC2086 # lists of folders
{
may src/base         base
may src/base/text    base base/text
may src/base/thread  base base/thread
may src/base/program base base/text base/thread base/program
may src/image/sums      $base datasetfs image/sums
may src/image/members   $base image/sums datasetfs image/members
may src/image/names     $base image/sums datasetfs image/names
may src/image           $base image/sums image/members image/names datasetfs image
may src/image/catalogue $base $image datasetfs
may src/trust    $base $image datasetfs trust
may src/io       $base io
may src/device/nvme $base datasetfs device/nvme
may src/device   $base device/nvme datasetfs device
may src/assembly $base $image io $device datasetfs assembly
may src/erofs    $base $image io read datasetfs erofs
may src/cache     $base $image io datasetfs cache
may src/client $base client
may src/opened   $base $image opened
may src/volume/space       $base $image datasetfs volume/space
may src/volume/transaction $base $image io $device datasetfs volume/space volume/transaction
may src/volume             $base $image io $device datasetfs volume
may src/volume/compaction  $base $image io $device datasetfs volume/space volume/transaction volume/compaction
may src/volume/replacement $base $image io $device datasetfs volume/space volume/transaction volume volume/replacement
may src/read     $base $image io cache read datasetfs
may src/options  $base $image trust io read datasetfs options
may src/fuse     $base io fuse
may src/supervisor $base supervisor
may src/lib         $base $image trust datasetfs lib
may src/lib/shuffle $base $image datasetfs lib/shuffle
may src/lib/direct/daemon $base $image trust io client opened cache read datasetfs lib lib/direct/daemon
may src/lib/direct  $base $image trust io $device assembly cache read opened datasetfs lib lib/direct/daemon lib/direct
may src/lib/mounted $base $image trust io datasetfs lib lib/mounted
may src/lib/api     $base $image trust $device datasetfs lib lib/shuffle lib/direct lib/mounted lib/api
may src/preload/process $base $lib preload/process
may src/preload/mounts  $base $image trust datasetfs $lib preload/process preload/mounts
may src/preload/files   $base $image trust read datasetfs $lib preload/process preload/mounts preload/files
may src/preload/hooks   $base $image trust datasetfs $lib preload/process preload/mounts preload/files preload/hooks
may src/preload         $base $image trust io $lib preload/process preload/hooks preload
may src/serve/version $base $image trust read opened datasetfs serve/version
may src/serve/recovery  $base trust datasetfs serve/version serve/recovery
may src/serve/worker  $base io read fuse datasetfs serve/version serve/worker
may src/serve         $base $image trust io $device read options serve/version serve/recovery serve/worker serve
may src/serve/successor $base fuse supervisor serve/version serve/recovery serve/worker serve serve/successor
may src/serve/readahead $base $image io read fuse datasetfs serve/version serve/worker serve serve/readahead
may src/serve/cache   $base $image $device io client opened read supervisor cache datasetfs serve/version \
    serve/worker serve serve/readahead serve/cache
may src/serve/opening $base $image trust $device datasetfs serve/version serve serve/successor serve/cache \
    serve/opening
may src/serve/request $base $image read fuse datasetfs serve/version serve/recovery serve/worker serve serve/successor \
    serve/readahead serve/request
may src/serve/clients $base $image client supervisor datasetfs serve/version serve/recovery serve serve/successor \
    serve/cache serve/request serve/clients
may src/serve/health  $base $image io read $device assembly datasetfs serve/version serve/worker serve serve/successor \
    serve/readahead serve/cache serve/opening serve/request serve/clients serve/health
may src/serve/control $base $image trust io fuse supervisor datasetfs serve/version serve/recovery serve/worker serve \
    serve/successor serve/readahead serve/cache serve/opening serve/request serve/clients serve/health serve/control
may src/serve/dotdir  $base $image trust fuse supervisor datasetfs serve/version serve/worker serve serve/successor \
    serve/readahead serve/cache serve/opening serve/request serve/clients serve/health serve/control \
    serve/dotdir
may src/serve/session $base $image io $device assembly read options fuse supervisor datasetfs serve/version \
    serve/recovery serve/worker serve serve/successor serve/readahead serve/cache serve/opening serve/request \
    serve/clients serve/health serve/control serve/dotdir serve/session
may src/kernelmount $base $image trust io $device assembly erofs options datasetfs kernelmount
may src          $base $image trust io $device assembly read options fuse supervisor serve serve/session kernelmount \
    datasetfs .
may mkfs/spill   $base datasetfs spill
may mkfs/source  $base $image datasetfs spill source
may mkfs/source/archive $base $image datasetfs spill source source/archive
may mkfs/source/remote  $base datasetfs source source/archive source/remote
may mkfs/options $base $image datasetfs source options
may mkfs/content $base $image datasetfs spill source source/archive options content
may mkfs/output  $base $image io $device assembly $volume datasetfs spill options output
may mkfs/layout  $base $image $volume datasetfs spill source options content output layout
may mkfs         $base $image trust io $device $volume datasetfs spill source source/archive source/remote options \
    content output layout .
may tools/cache  $base $image datasetfs cache cache .
may tools/describe/common $base $image datasetfs mounts describe/common .
may tools/describe/survey  $base $image datasetfs describe/common describe/survey .
may tools/describe/diff    $base $image datasetfs describe/common describe/diff .
may tools/describe $base $image datasetfs describe/common describe/survey describe/diff describe .
may tools/plan   $base $image io $volume datasetfs describe/common describe/survey plan .
may tools/extract   $base $image io read datasetfs extract .
may tools/export $base $image trust io read $device $volume erofs datasetfs extract export .
may tools/list   $base $image trust $volume datasetfs list .
may tools/member $base $image io $device $volume datasetfs member .
may tools/verify $base $image trust io read datasetfs verify .
may tools/scrub  $base $image $volume datasetfs verify scrub .
may tools/mounts  $base $device assembly attach datasetfs mounts
may tools/warm   $base datasetfs mounts warm .
may tools/status $base $device datasetfs mounts status .
may tools/top    $base datasetfs mounts status top .
may tools        $base $image trust io $device assembly $volume attach datasetfs describe export member nvme plan \
    scrub extract top verify mounts kernelmount .
# The machines of a cluster.
may tools/site/attach   $base $image trust io $device assembly options datasetfs attach
may tools/site/verbs    $base datasetfs attach .
may tools/site/nvme     $base io $device datasetfs nvme .
may tools/site/csi      $base attach csi
may tools/site/slurm    base base/text image/catalogue attach datasetfs slurm
may tools/site/exporter $base $device datasetfs exporter
may tools/run    $base run
}

while read -r folder; do
    for row in "${rows[@]}"; do
        [ "$row" = "$folder" ] && continue 2
    done
    echo "$folder has no row in this test"
    failed=1
done < <(find src mkfs tools -name '*.[ch]' -printf '%h\n' | sort -u)

home 'lmdb\.h'            src/image/names/names.c
home 'zstd\.h'            src/image/codec.c
home 'xxh[^/]*\.h'        src/image/sums/checksum_code.c
home 'openssl/[a-z0-9_]*\.h' src/image/sums/sha256.c src/image/sums/shake128.c src/trust/pubkey.c
home 'liburing\.h'        src/io/ring.c
home 'libnvme\.h'         src/device/nvme/nvme.c src/device/nvme/nvme_discover.c
home 'fuse[a-z_]*\.h'     src/fuse/mount.c
home 'blkid/[a-z0-9]*\.h' src/volume/occupant.c
home 'archive[a-z_]*\.h'  mkfs/source/archive/tar_decode.c mkfs/source/archive/tar_input.[ch] \
    mkfs/source/archive/tar_unpack.c mkfs/source/archive/tar_zip.[ch] tools/export/tar_write.c
home 'zlib\.h'            mkfs/source/archive/tar_unpack.c
home 'curl/[a-z]*\.h'     mkfs/source/remote/http.c
home 'expat\.h'           mkfs/source/remote/keys.c
home 'slurm/[a-z_]*\.h'  tools/site/slurm/plugin.c
home 'microhttpd\.h'     tools/site/exporter/server.c
home 'nghttp2/[a-z0-9]*\.h' tools/site/csi/server.c
home '(n?curses|term)[a-z_]*\.h' tools/top/screen.c
home 'json-c/[a-z_]*\.h'  tools/mounts/reported.c

python3 tests/lib/modules.py || failed=1

if grep -rnE '#[[:space:]]*include "(attach|csi|exporter|nvme|slurm|verbs)/' src mkfs; then
    echo "^ nothing in src and mkfs may include a file of tools/site"
    failed=1
fi

# Every folder stands in the map of src/README.md, and the map names no other.
[ -f src/README.md ] || fail "no src/README.md"
for folder in src/*/ mkfs/ tools/; do
    folder=${folder#src/}
    [ "$(find "src/$folder" "$folder" -name '*.[ch]' 2>/dev/null | wc -l)" -gt 0 ] || continue
    grep -qE "(^|[^a-z/])\`?${folder%/}/" src/README.md || {
        echo "src/README.md does not name the folder $folder"
        failed=1
    }
done
while read -r folder; do
    [ -d "src/$folder" ] || [ -d "$folder" ] || { echo "src/README.md names $folder/, which does not exist"; failed=1; }
done < <(grep -oE '^[-|* ]*`(src/)?[a-z]+/`' src/README.md | grep -oE '[a-z]+/`$' | tr -d '/`' | sort -u)

# The picture above the table has every folder that has a row here, by the last part of its path, and no other.
picture=$(awk '/^```/ { fences++ } fences == 1' src/README.md)
[ -n "$picture" ] || fail "src/README.md has no picture"
drawn=$(grep -oE '[a-z]+/' <<<"$picture" | grep -vxE 'src/|site/' | sort -u)
folders=$(printf '%s/\n' "${rows[@]##*/}" | grep -vx 'src/' | sort -u)
diff <(echo "$folders") <(echo "$drawn") || {
    echo "^ folders (<) and those in the picture of src/README.md (>)"
    failed=1
}

[ $failed = 0 ] || fail "the layers are not as src/README.md says"
