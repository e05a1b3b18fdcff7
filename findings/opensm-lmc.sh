#!/usr/bin/env bash
# OpenSM 3.3.23: a second start with another LMC moves only the LIDs that the new LMC does not allow,
# and a third start with the former LMC does not move them back: after 0 -> 2 -> 0 ports have other
# LIDs than before. Whoever undoes a change of the LMC must write guid2lid, too.
. "$(dirname "$0")/root.sh"
. "$(dirname "$0")/tree.sh"
root bookworm opensm=3.3.23-2+b1 ibsim-utils=0.10-2 infiniband-diags=44.0-2
tree 2 2 1 >"$work/net"
seen=$(sm "$work/net" 'lids() { echo "$1:" $(ibsim-run ibnetdiscover 2>/dev/null | grep -A1 "^Ca" | grep -o "# lid [0-9]*" | sort -V); }
once -l 0; lids before
once -l 2; lids "LMC 2"
once -l 0; lids after')
show "$seen"
value() { grep "^$1:" <<<"$seen" | cut -d: -f2; }
[ -n "$(value before)" ] && [ "$(value before)" != "$(value after)" ] || expect 'the LIDs differ after LMC 2 and back' "$seen" '^never$'
echo 'as stated: the LIDs differ after LMC 2 and back'
