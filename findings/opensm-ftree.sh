#!/usr/bin/env bash
# OpenSM 3.3.23: routing engine ftree leaves a fat tree of which one cable is dead ("has not been
# identified as FatTree") and routes by minhop, but takes one of which each leaf has lost a cable to
# another spine, where more is dead: it compares the numbers of upward ports, not the cables. With
# LMC above 0 it always routes by minhop.
. "$(dirname "$0")/root.sh"
. "$(dirname "$0")/tree.sh"
root bookworm opensm=3.3.23-2+b1 ibsim-utils=0.10-2
routed() {
	tree 4 4 4 $2 >"$work/net"
	sm "$work/net" "once -R ftree $3; echo '$1:' \$(grep -oh '[a-z]* tables configured' /tmp/osm.log)"
}
seen=$(
	routed 'no cable dead' '' ''
	routed 'one dead' 0-0 ''
	routed 'one dead at each leaf' '0-0 1-1 2-2 3-3' ''
	routed 'no cable dead, LMC 1' '' '-l 1'
)
show "$seen"
expect 'a healthy tree is routed by ftree' "$seen" '^no cable dead: ftree'
expect 'one dead cable: minhop' "$seen" '^one dead: minhop'
expect 'one dead cable at each leaf: ftree' "$seen" '^one dead at each leaf: ftree'
expect 'LMC 1: minhop' "$seen" '^no cable dead, LMC 1: minhop'
