#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: smoke once timeout=300
# Programs that read files do the same on a mount without and with datasetfs-run: those of coreutils, grep, diff, and
# those that unpack.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
. "$LIB/preload.sh"
need_fuse
need_command /usr/bin/python3

data files modes archives
cp -r "$MNT/text" copy
text=$MNT/text/big.txt

say "reading"
works "cat" sh -c "cat $MNT/text/*/*.txt $MNT/sizes/* $MNT/holes/*"
works "cat of stdin" sh -c "cat - $MNT/text/crlf.txt <$MNT/text/no-end.txt; cat <$text >/dev/null;
    cat -A <$MNT/text/crlf.txt"
works "tac" tac "$text"
works "sha256sum" sh -c "sha256sum $MNT/sizes/* $MNT/text/*/*"
works "sha256sum -c" sh -c "cd $MNT/text/0 && sha256sum * >$PWD/sums && sha256sum -c $PWD/sums"
works "md5sum of stdin" sh -c "md5sum <$text; md5sum - $MNT/sizes/3M <$MNT/sizes/0"
works "cksum" sh -c "cksum $MNT/holes/* $MNT/sizes/*"
works "cmp" sh -c "cmp $text $text; cmp $text $MNT/text/no-end.txt; cmp -l $MNT/sizes/511 $MNT/sizes/512 | tail -n 3;
    cmp $text - <$text"
both "diff" diff -r copy "$MNT/text"
works "diff" sh -c "diff -u $MNT/text/0/000.txt $MNT/text/1/001.txt; diff - $text <$text;
    diff $MNT/sizes/511 $MNT/sizes/512; echo \$?"
works "wc" sh -c "wc $MNT/text/*.txt $MNT/sizes/*; wc -c <$text; wc -l <$MNT/text/no-end.txt"
works "head" sh -c "head -n 5 $text; head -c 100 $MNT/text/*.txt; head -n -29990 $text;
    head -c -100 $MNT/text/crlf.txt"
works "tail" sh -c "tail -n 5 $text; tail -c 100 $MNT/sizes/3M; tail -n +29990 $text; tail -n 3 <$text;
    tail -c 5 $MNT/holes/all"
works "a shared stdin" sh -c "{ head -n 2; sed -n 1q; tail -n 1; cat; } <$text"
works "od" sh -c "od -A d -t x1 -j 1000 -N 200 $MNT/sizes/4097; od $MNT/holes/middle"
works "strings" sh -c "hexdump -C $MNT/sizes/513; cut -d , -f 2 $MNT/text/table.csv;
    paste $MNT/text/table.csv $MNT/text/numbers"
works "sort" sh -c "sort $text | cksum; sort -t , -k 2n $MNT/text/table.csv;
    sort -m $MNT/text/numbers $MNT/text/numbers; sort -u <$text"
works "join" sh -c "comm $MNT/text/0/000.txt $MNT/text/1/001.txt; uniq -c $MNT/text/crlf.txt;
    nl $MNT/text/no-end.txt; tr a-z A-Z <$text"
works "shuf" sh -c "shuf -n 5 --random-source=$MNT/sizes/3M $text;
    shuf --random-source=$MNT/sizes/3M <$MNT/text/numbers"
works "grep -r" grep -rn needle "$MNT/text"
works "grep -R" grep -RIc sigma "$MNT/text" "$MNT/links/folder" "$MNT/names"
works "grep" sh -c "grep -c omega $text; grep -f $MNT/text/no-end.txt $text; grep -q x $MNT/sizes/3M; echo \$?;
    grep -a a <$MNT/sizes/4097"
works "grep -m" sh -c "{ grep -m 2 needle; head -n 1; } <$text"
both "grep what is not there" grep x "$MNT/missing" "$MNT/text" "$MNT/modes/0000" "$MNT/links/loop"
works "xargs" sh -c "find $MNT/many -type f | sort | xargs -P 1 -n 20 cat; xargs -a $MNT/text/numbers -n 500 echo"
works "tee" sh -c "tee copy <$MNT/sizes/3M | cksum"
! has file || works "file" file -b "$MNT"/archives/* "$MNT"/text/* "$MNT"/sizes/0 "$MNT"/links/* "$MNT/modes/script"
works "m4" sh -c "nl -ba $MNT/text/numbers; fold -w 20 $MNT/text/0/000.txt; expand $text | cksum;
    rev $MNT/text/crlf.txt; column -t $MNT/text/numbers"
works "base64" sh -c "base64 $MNT/sizes/4097; b2sum $MNT/sizes/3M; sum $MNT/sizes/3M;
    truncate -r $MNT/sizes/4097 new; stat -c %s new"
works "touch -r" sh -c "touch -r $MNT/sizes/4097 new; stat -c '%Y %s' new"
works "test" sh -c "for t in e f d r w x s h L p S u g k O G N; do test -\$t $text; echo \$t \$?;
    test -\$t $MNT/links/soft; echo \$?; done
    test $text -nt $MNT/sizes/0; echo \$?; test $MNT/links/plain -ef $MNT/links/hard; echo \$?"

say "unpacking"
works "gzip" sh -c "gzip -dc $MNT/archives/text.gz | cksum; zcat <$MNT/archives/text.gz | cksum;
    gzip -l $MNT/archives/text.gz; gzip -t $MNT/archives/text.gz"
works "gzip a file" sh -c "gzip -nc $text | cksum; gzip -nc <$text | cksum"
! has xz || works "xz" sh -c "xz -dc $MNT/archives/text.xz | cksum; xz -t $MNT/archives/text.xz;
    xz -l $MNT/archives/text.xz; xz -dc <$MNT/archives/text.xz"
! has zstd || works "zstd" sh -c "zstd -qdc $MNT/archives/text.zst; zstd -qdc <$MNT/archives/text.zst | cksum;
    zstd -q -o new.zst $text"
! has unzip || works "unzip" sh -c "unzip -q $MNT/archives/a.zip; unzip -lv $MNT/archives/a.zip;
    unzip -p $MNT/archives/a.zip folder/3"
same_programs 30
