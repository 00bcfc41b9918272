#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: once timeout=300
# Scripts of bash, dash, perl, awk and sed do the same on a mount without and with datasetfs-run: redirections of every
# kind, descriptors that are moved, scripts in the data set, files that are read piece by piece.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
. "$LIB/preload.sh"
need_fuse
need_command /usr/bin/python3

data files modes archives modules
export T=$MNT/text/big.txt S=$MNT/text/0/000.txt N=$MNT/text/no-end.txt

# script NAME: what it reads is a script of sh; dash and bash run it
script() {
    cat >script.sh
    chmod 644 script.sh
    for shell in dash bash; do
        works "$shell: $1" $shell "$PWD/script.sh"
    done
}

# bash_script NAME: the same for bash alone
bash_script() {
    cat >script.sh
    works "bash: $1" bash "$PWD/script.sh" one two
}

# perl_script NAME
perl_script() {
    cat >script.pl
    works "perl: $1" perl "$PWD/script.pl"
}

script "redirections" <<'END_OF_SCRIPT'
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
script "conditions" <<'END_OF_SCRIPT'
for f in "$S" "$MNT/text" "$MNT/links/soft" "$MNT/links/dangling" "$MNT/modes/0000" "$MNT/modes/script" \
        "$MNT/missing"; do
    for t in e f d r w x s L p u; do [ -$t "$f" ] && echo "$t $f"; done
done
cd "$MNT/text/0" && pwd && cat 000.txt ../1/001.txt <../../links/soft && ls
cd ../../links/to-folder && pwd && pwd -P && cat file ../plain
cd .. && pwd && cat ./folder//../soft
cd /; (. "$MNT/modules/../modules/sourced"); echo $?
END_OF_SCRIPT
script "programs and scripts in the data set" <<'END_OF_SCRIPT'
"$MNT/modes/script" one two <"$S"
sh "$MNT/modes/script" <"$N"
bash "$MNT/modules/script.sh" a b
dash "$MNT/modules/script.sh" a b
sh <"$MNT/modules/script.sh"
(. "$MNT/modules/script.sh")
sh -c 'exec 0<"$T"; exec cksum'
sh -c 'exec cat' <"$S"
env -i /bin/cat <"$S"
exec 7<"$S"
sh -c 'cat <&7'; cat <&7
END_OF_SCRIPT
bash_script "what only bash has" <<'END_OF_SCRIPT'
echo "$(<"$S")"
mapfile -t lines <"$T"; echo ${#lines[@]} "${lines[777]}"
mapfile -n 3 -s 5 few <"$S"; echo "${few[@]}"
read -rd '' all <"$S"; echo ${#all}
read -rN 20 part <"$S"; echo "$part"
exec {fd}<"$S"; read -r -u $fd line; echo "$line"; cat <&$fd | cksum; exec {fd}<&-
cat <(cat "$S") <(head -n 2 "$N") | cksum
diff <(sort "$S") <(sort <"$S") && echo equal
cat <<<"$(<"$N")"
exec 3<"$S"; read -r line <&3; exec 4<&3-; read -r line <&4; echo "$line"; read -r line <&3 || echo closed
coproc { cat <"$S"; }; cat <&${COPROC[0]} | cksum; wait
while read -r -u 9 line; do cat >/dev/null; echo "$line"; done 9<"$S" <"$T" | cksum
for i in {1..50}; do read -r -n $i piece; echo "$piece"; done <"$T" | cksum
while read -r line; do sh -c 'head -c 3' <&0; echo; done <"$S" | cksum
[[ $S -ef $MNT/text/../text/0/000.txt ]] && echo same; [[ $S -nt $T ]]; echo $?
cat "$MNT"/text/{0,1}/*.txt | cksum; compgen -G "$MNT/links/*"; echo "$MNT"/names/*
source "$MNT/modules/script.sh" x
cat /dev/stdin <"$S" | cksum; cat /dev/fd/3 3<"$S" | cksum; cat /proc/self/fd/4 4<"$T" | cksum
shopt -s globstar; set -- "$MNT"/text/**; echo $#
ulimit -n 20; cat "$S" <"$T"; read -r line <"$S"; echo "$line"
END_OF_SCRIPT
perl_script "files" <<'END_OF_SCRIPT'
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
works "perl -ne" perl -ne 'print "$ARGV $_" if /needle/ && $. < 500; close ARGV if eof' "$T" "$S" "$N"
works "perl from stdin" sh -c 'perl -e "print scalar <STDIN>; sysread STDIN, \$x, 10; print \$x" <"$S"; perl <"$N";
    echo $?'
works "awk" awk '{ n[$3]++; s += NF } FNR == 1 { print FILENAME } END { for (k in n) t += n[k];
    print t, s, NR }' "$T" "$S" "$N"
works "awk getline" awk 'BEGIN { f = ENVIRON["S"]; while ((getline line < f) > 0) print NR++, line; close(f);
    getline < f; print
    print (getline x < "/nonexistent"); c = 0; while ((("cat " f) | getline line) > 0) c++; print c
    getline < "-"; print }' "$S"
works "awk of stdin" sh -c 'awk "NR % 1000 == 0" <"$T";
    awk -F, "{ s += \$2 } END { print s }" "$MNT/text/table.csv" - <"$N"'
works "busybox awk" busybox awk '{ s += NF } END { print s }' "$T"
works "sed" sh -c 'sed -n "5,8p;$=" "$T" "$S"; sed -n "2{p;q}" <"$S"; sed "r $N" "$S"; sed -s -n "\$p" "$S" "$N";
    sed -f "$N" "$S"; echo $?'
both "sed -i" sh -c 'sed -i s/a/b/ "$S" 2>/dev/null; echo $?'
works "sed of two" sh -c '{ sed -u 3q; cat; } <"$S"; sed -n "R $S
p" "$N"'
works "bc" sh -c 'expr $(wc -l <"$T") + 1; printf "%s\n" "$(cat "$S")"; busybox cat "$S"; busybox sh -c "cat <$S;
    read x <$S; echo \$x"'
works "find by sh" sh -c 'find "$MNT/text" -name "00*.txt" | while read -r f; do read -r line <"$f"; echo "$f $line";
    done'
works "make" sh -c 'printf "all: %s\n\t@cat \$<; wc -l <\$<\n" "$S" | make -s -f - 2>&1; echo $?'
works "timeout" sh -c 'timeout 10 cksum <"$T"; nice cksum <"$T"; nohup cksum <"$T" 2>/dev/null;
    setsid -w cksum <"$T"; env -C / cksum <"$T"'
works "flock" sh -c 'flock -s "$S" echo locked; exec 8<"$S"; flock -s 8 && echo shared; flock -n -x 8; echo $?;
    cat <&8 | cksum'
same_programs 20
