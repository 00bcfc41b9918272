#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: once timeout=300
# Compiled programs do the same on a mount without and with datasetfs-run: C with stdio and plain calls, with and
# without _FORTIFY_SOURCE and large files; streams of C++; descriptors that go over a socket; a static program and one
# of Go, which meet the mount.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
. "$LIB/preload.sh"
need_fuse
need_command cc /usr/bin/python3

data files modes
programs=$DATASETFS_SOURCE/tests/preload
some=("$MNT"/text/{0/000,no-end,crlf,utf-8}.txt "$MNT"/text/numbers "$MNT"/sizes/{0,1,4096,4097,65537,1048576} \
    "$MNT"/holes/middle "$MNT"/links/soft)
absent=("$MNT/missing" "$MNT/links/loop" "$MNT/text/0/000.txt/x" "$MNT/modes/0000")
odd=("${absent[@]}" "$MNT/text")

# built NAME SOURCE OPTIONS…: false where the compiler cannot
built() {
    local compiler=cc
    [[ $2 != *.cc ]] || compiler=c++
    $compiler -D_GNU_SOURCE -w -O2 "${@:3}" -o "$1" "$programs/$2" -pthread 2>"$1.log" ||
        { say "$compiler cannot build $1: $(head -n 1 "$1.log")"; return 1; }
}

built plain-stdio stdio.c -U_FORTIFY_SOURCE || fail "see above"
works "stdio" "$PWD/plain-stdio" "${some[@]}" "${odd[@]}"
built fortified stdio.c -D_FORTIFY_SOURCE=2 -D_FILE_OFFSET_BITS=64 || fail "see above"
works "fortified" "$PWD/fortified" "${some[@]}" "${odd[@]}"
built descriptors descriptors.c || fail "see above"
works "descriptors" "$PWD/descriptors" "${some[@]}"
if built ifstream ifstream.cc -std=c++17; then
    works "ifstream" "$PWD/ifstream" "${some[@]}" "${absent[@]}"
fi
if built static stdio.c -static; then
    works "static" "$PWD/static" "${some[@]}" "${odd[@]}"
fi
if has busybox; then
    works "busybox" busybox sh -c "cd $MNT; find text | sort | busybox cpio -o -H newc; busybox cat ${some[*]};
        busybox ls -l text"
fi
if has go; then
    cat >main.go <<'END_OF_GO'
package main

import ("bufio"; "fmt"; "hash/crc32"; "os")

func main() {
	for _, path := range os.Args[1:] {
		all, err := os.ReadFile(path)
		fmt.Println(path, len(all), crc32.ChecksumIEEE(all), err)
		if file, err := os.Open(path); err == nil {
			line, err := bufio.NewReader(file).ReadString('\n')
			info, _ := file.Stat()
			fmt.Println(line, err, info.Size(), info.Mode(), info.ModTime().Unix())
			file.Close()
		}
	}
}
END_OF_GO
    GOCACHE=$PWD/cache GO111MODULE=off go build -o program main.go || fail "go cannot build it"
    works "Go" "$PWD/program" "${some[@]}" "${odd[@]}"
fi
same_programs 3
