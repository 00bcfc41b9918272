#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: smoke once timeout=300
# Real programs do the same on a mount without and with datasetfs-run. calls.sh and sequences.sh prove the calls;
# each program here uses them in a way of its own: descriptors that a shell shares with its children, seeks of tail and
# unzip, walks by openat(2), holes, direct reads, mappings of sqlite3, a FILE made of a descriptor (numpy).
. "$DATASETFS_SOURCE/tests/lib/common.sh"
. "$LIB/preload.sh"
need_fuse
need_command /usr/bin/python3

kinds=(files modes archives modules headers)
! has git || kinds+=(repository)
! has sqlite3 || kinds+=(database)
data "${kinds[@]}"
export T=$MNT/text/big.txt S=$MNT/text/0/000.txt N=$MNT/text/no-end.txt
cp -r "$MNT/text" copy

say "shells and perl"
cat >redirections.sh <<'END_OF_SCRIPT'
cat <"$S"
read -r line <"$S"; echo "$line"
while read -r number rest; do echo "$number: $rest"; done <"$S"
while IFS= read -r line || [ -n "$line" ]; do echo "[$line]"; done <"$N"
exec 3<"$S"
read -r one <&3; read -r two <&3; echo "$one"; echo "$two"
head -c 10 <&3; cat <&3 | cksum
exec 4<&3 3<&-
cat <&4; cat <&3
exec 4<"$T" 5<&4
head -c 100 <&4 | cksum; head -c 100 <&5 | cksum
{ read -r line; echo "$line"; (read -r line; echo "$line"); read -r line; echo "$line"; cat | cksum; } <"$S"
exec 4<&- 5<&-
(cat; echo and; cat) <"$S" | cksum
cat <<HERE
here: $(cat "$N") $(wc -l <"$T")
HERE
for f in "$MNT"/text/*/00*; do wc -c <"$f"; cat <"$f"; done | cksum
exec <"$S"
read -r line; echo "$line"; cat | cksum
exec <"$S"; sed 1q; cat | cksum
cat <"$MNT/missing" || echo missing $?
cat >"$S" || echo cannot write $?
cat >>"$S"; echo $?
END_OF_SCRIPT
cat >files.pl <<'END_OF_SCRIPT'
use strict; use Fcntl ':seek'; use Fcntl; use POSIX ();
my ($t, $s, $n, $m) = @ENV{qw(T S N MNT)};
open(my $f, '<', $s) or die; my @lines = <$f>; print scalar(@lines), $lines[3], tell($f), eof($f), "\n"; close $f;
open($f, '<:raw', $t) or die; my $data; print read($f, $data, 100, 5), $data, tell($f), "\n";
seek($f, 1000, SEEK_SET); print scalar(<$f>), $., "\n"; seek($f, -20, SEEK_END); print <$f>;
sysseek($f, 10, SEEK_SET); print sysread($f, $data, 30), " $data\n"; print sysseek($f, 0, SEEK_CUR), "\n";
print join(' ', stat($f)), "\n", join(' ', lstat("$m/links/soft")), "\n", -s $f, -s $t, -M $t > 0,
    -T $t, -B $t, -e $n, -r _, "\n";
open(my $copy, '<&', $f) or die; print scalar(<$copy>); open(my $same, '<&=', fileno($f)); print scalar(<$same>);
    close $f;
{ local $/; open($f, $n); print length(<$f>), "\n"; } { local $/ = \7; open($f, $n); print join('|', <$f>), "\n"; }
open($f, '<:encoding(UTF-8)', "$m/text/utf-8.txt"); print length(<$f>), "\n"; open($f, '<:crlf', "$m/text/crlf.txt");
    print <$f>;
{ local @ARGV = ($s, $n); while (<>) { print "$ARGV $.: $_" if $. % 10 == 1; } } print "\n";
open(STDIN, '<', $s); print scalar(<STDIN>); print `cat | cksum`; open(STDIN, '<', $s); system('cksum'); exec_child();
sub exec_child { my $pid = fork; if (!$pid) { open(STDIN, '<', $t); exec 'cksum' } waitpid($pid, 0); }
for my $p (qw(missing text modes/0000 links/loop text/0/000.txt/x)) { open(my $x, '<', "$m/$p") or print "$p: $!\n"; }
open($f, '+<', $s) or print "$!\n"; open($f, '>', $s) or print "$!\n";
    sysopen($f, $s, O_RDONLY | O_CREAT) or print "$!\n";
opendir(my $d, "$m/links"); print join(' ', readdir $d), "\n"; rewinddir $d;
    print scalar(() = readdir $d), telldir($d) > 0, "\n";
print join(' ', map { readlink } glob("$m/links/*")), "\n"; chdir "$m/text/0" or die;
    open($f, '000.txt') and print scalar(<$f>);
print join(' ', stat '../1/001.txt'), "\n"; my $fd = POSIX::open($s, O_RDONLY); POSIX::read($fd, $data, 20);
    print "$data\n";
POSIX::dup2($fd, 0); open($f, '<&=0'); print scalar(<$f>); print join(' ', POSIX::fstat($fd)), "\n";
print -f "$m/links/out" ? 1 : 0, -l "$m/links/out" ? 1 : 0, -d "$m/links/up" ? 1 : 0,
    -p $s ? 1 : 0, -t $f ? 1 : 0, "\n";
print "flock ", flock($f, 1), "\n"; open($f, '<', $t); $/ = 'needle'; print scalar(() = <$f>), "\n";
    print truncate($t, 0) ? 1 : "$!\n";
END_OF_SCRIPT
chmod 644 redirections.sh # what it reads is a script of sh that nobody executes
works "dash" dash "$PWD/redirections.sh"
works "bash" bash "$PWD/redirections.sh"
works "perl" perl "$PWD/files.pl"
works "awk" awk '{ n[$3]++; s += NF } FNR == 1 { print FILENAME } END { for (k in n) t += n[k]; print t, s, NR }' \
    "$T" "$S" "$N"
works "sed of two" sh -c '{ sed -u 3q; cat; } <"$T" | cksum; sed "r $N" "$S"; sed -s -n "\$p" "$S" "$N"'
both "sed -i" sh -c 'sed -i s/a/b/ "$S" 2>/dev/null; echo $?'
works "flock" sh -c 'flock -s "$S" echo locked; exec 8<"$S"; flock -s 8 && echo shared; flock -n -x 8; echo $?;
    cat <&8 | cksum'

say "reading"
works "sums" sh -c "cd $MNT/text/0 && sha256sum * >$PWD/sums && sha256sum -c $PWD/sums
    cksum $MNT/holes/* $MNT/sizes/*"
both "diff" diff -r copy "$MNT/text"
works "head and tail" sh -c "head -n -29990 $T; tail -c 100 $MNT/sizes/3M; tail -n 3 <$T; tail -c 5 $MNT/holes/all
    { head -n 2; sed -n 1q; tail -n 1; cat; } <$T"
works "sort" sh -c "sort $T | cksum; sort -m $MNT/text/numbers $MNT/text/numbers; sort -u <$T"
works "grep" sh -c "grep -rn needle $MNT/text; grep -f $N $T; { grep -m 2 needle; head -n 1; } <$T"
both "grep without a file" grep x "$MNT/missing" "$MNT/text" "$MNT/modes/0000" "$MNT/links/loop"
! has file || works "file" file -b "$MNT"/archives/* "$MNT"/text/* "$MNT"/sizes/0 "$MNT"/links/* "$MNT/modes/script"

say "walking and copying"
works "find" find "$MNT" -printf '%p %y %Y %m %n %u %g %s %b %l %A@ %T@ %C@ %i %D %S\n'
both "ls" ls -laR --time-style=full-iso "$MNT/text" "$MNT/links" "$MNT/modes" "$MNT/names"
works "du" sh -c "du -a --apparent-size $MNT/text $MNT/holes; du -aB1 $MNT/holes $MNT/sizes"
works "stat of stdin" sh -c "stat -L - <$T; stat -c '%s %i %h' - <$T"
works "tar" sh -c "tar -C $MNT -c . | sha256sum; tar -xf $MNT/archives/a.tar; tar -C $MNT -c text/0 | tar -C $MNT -dv"
works "tar --sparse" tar --sparse -cf out.tar -C "$MNT/holes" .
works "cp -a" cp -a "$MNT/." .
works "cp --sparse" cp --sparse=always "$MNT/holes/middle" "$MNT/holes/all" .
both "cp --reflink=always" cp --reflink=always "$MNT/sizes/3M" .
both "mv" mv "$MNT/links/plain" .
works "dd" sh -c "dd if=$T iflag=skip_bytes skip=777 status=none
    dd if=$MNT/sizes/3M iflag=direct bs=1M status=none | cksum"
! has rsync || works "rsync" rsync -rlHic --sparse --no-whole-file "$MNT/links" "$MNT/holes" .
works "gzip" sh -c "gzip -dc $MNT/archives/text.gz | cksum; zcat <$MNT/archives/text.gz | cksum"
! has unzip || works "unzip" sh -c "unzip -q $MNT/archives/a.zip; unzip -p $MNT/archives/a.zip folder/3"

say "compilers, databases, repositories, arrays"
works "gcc" sh -c "gcc -I $MNT/include -o program $MNT/include/all.c && ./program && rm program
    cd $MNT/include && gcc -E -xc - <all.c | cksum"
if has sqlite3; then
    query="select count(*), sum(value) from samples; pragma integrity_check;"
    works "sqlite3" sqlite3 -readonly "$MNT/db/data.db" "$query" ".dump" ".schema"
    works "sqlite3 mapped" sqlite3 "file:$MNT/db/data.db?mode=ro" "pragma mmap_size = 10000000; $query"
    both "sqlite3 written" sqlite3 "$MNT/db/data.db" "insert into samples values (1, 2, 3);"
fi
if has git; then
    export GIT_COMMITTER_DATE=2020-01-02T03:04:05Z GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@example.org
    export GIT_CONFIG_COUNT=2 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*' GIT_CONFIG_KEY_1=core.fsync \
        GIT_CONFIG_VALUE_1=none
    works "git fsck" sh -c "git -C $MNT/repository fsck --full; git -C $MNT/repository log -p --stat"
    # the index of the clone holds times and inode numbers of its own
    works "git clone" sh -c "git clone -q --no-local $MNT/repository clone && git -C clone log --stat &&
        rm -f clone/.git/index"
fi
! /usr/bin/python3 -c 'import numpy' 2>/dev/null || works "numpy" /usr/bin/python3 -c "import numpy
for open_it in lambda: open('$MNT/sizes/4097', 'rb'), lambda: open('$MNT/sizes/4097', 'rb', 0):
    with open_it() as file:
        file.read(16)
        print(numpy.fromfile(file, numpy.int32, count=20), file.tell(), file.read(10), numpy.fromfile(file, 'u1'))
print(numpy.memmap('$MNT/sizes/3M', 'u1', 'r', offset=5000, shape=(10, 3)))"
same_programs 35
