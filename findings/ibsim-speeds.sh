#!/usr/bin/env bash
# ibsim 0.10 (Debian 12) keeps the speed of HDR cables of its network file and runs NDR and XDR
# cables as SDR: its own log says "cannot parse speed", it goes on, and ibnetdiscover prints 4xSDR, a
# twentieth of HDR. A tool that takes rates from ibnetdiscover finds slow cables that nobody has.
. "$(dirname "$0")/root.sh"
. "$(dirname "$0")/tree.sh"
root bookworm ibsim-utils=0.10-2 infiniband-diags=44.0-2 libibumad3=44.0-2
for speed in EDR HDR NDR XDR; do
	SPEED=4x$speed tree 2 2 1 >"$work/net"
	printf '%s ' "$speed" && sm "$work/net" 'ibsim-run ibnetdiscover 2>/dev/null | grep -o "4x[A-Z]*" | sort | uniq -c; grep -o "cannot parse speed" /tmp/ibsim.log | head -n 1'
done >"$work/seen"
seen=$(<"$work/seen")
show "$seen"
expect 'EDR is kept' "$seen" '^EDR .*4xEDR$'
expect 'HDR is kept' "$seen" '^HDR .*4xHDR$'
expect 'NDR becomes SDR' "$seen" '^NDR .*4xSDR$'
expect 'XDR becomes SDR' "$seen" '^XDR .*4xSDR$'
