#!/usr/bin/env bash
# OpenSM 3.3.23, routing engine file: a table that lacks a LID gets "no path" (255) for it, and a
# switch without a section is emptied; the log says "file tables configured on all switches", as for
# a whole file. Tables must be read back to know what the switches hold.
. "$(dirname "$0")/root.sh"
. "$(dirname "$0")/tree.sh"
root bookworm opensm=3.3.23-2+b1 ibsim-utils=0.10-2 infiniband-diags=44.0-2
tree 2 2 1 >"$work/net"
seen=$(sm "$work/net" 'once -R minhop
ibsim-run dump_lfts 2>/dev/null | sed "/^Unicast lids.*spine0/,/^[0-9]* valid/d" >/tmp/whole
victim=$(grep -o "^0x[0-9a-f]*" /tmp/whole | sort | uniq -c | sort -n | tail -1 | grep -o 0x.*)
grep -v "^$victim" /tmp/whole >/tmp/part
echo "in the file: $(grep -c "^Unicast" /tmp/part) switches of 3, $(grep -c "^0x" /tmp/part) entries, none for $victim"
once -R file -U /tmp/part
grep -oh "[a-z]* tables configured.*" /tmp/osm.log | tail -1
ibsim-run dump_lfts 2>/dev/null >/tmp/held
echo "held: $(grep -c "^0x" /tmp/held) entries; for $victim: $(grep -c "^$victim" /tmp/held)"
echo "spine0 holds $(sed -n "/^Unicast lids.*spine0/,/valid/p" /tmp/held | grep -c ^0x) entries"')
show "$seen"
expect 'the log reports success' "$seen" '^file tables configured on all switches'
expect 'the missing LID has no path' "$seen" '^held: .*: 0$'
expect 'the switch without a section holds none' "$seen" '^spine0 holds [01] entries'
