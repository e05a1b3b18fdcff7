# Read by scripts beside it: networks for ibsim, and OpenSM on them.
#   tree LEAVES HOSTS SPINES [LEAF-SPINE…]   prints a fat tree as ibnetdiscover does, without these cables
#   sm NET COMMANDS   runs the shell commands in the root with ibsim on NET; "once ARGUMENTS" there runs OpenSM one time
tree() {
	local leaves=$1 hosts=$2 spines=$3 l h s speed=${SPEED:-4xHDR}
	shift 3
	lid() { printf 'lid %d lmc 0 "x" lid %d %s' "$1" "$2" "$speed"; }
	for ((l = 0; l < leaves; l++)); do
		printf 'switchguid=0x10%02x\nSwitch %d "S-10%02x" # "leaf%d"\n' "$l" $((hosts + spines)) "$l" "$l"
		for ((h = 0; h < hosts; h++)); do printf '[%d] "H-%x"[1] # "h%d" %s\n' $((h + 1)) $((16 * (l * hosts + h + 1))) $((l * hosts + h)) "$(lid 1 1)"; done
		for ((s = 0; s < spines; s++)); do
			[[ " $* " == *" $l-$s "* ]] || printf '[%d] "S-20%02x"[%d] # "spine%d" %s\n' $((hosts + s + 1)) "$s" $((l + 1)) "$s" "$(lid 1 1)"
		done
		echo
	done
	for ((s = 0; s < spines; s++)); do
		printf 'switchguid=0x20%02x\nSwitch %d "S-20%02x" # "spine%d"\n' "$s" "$leaves" "$s" "$s"
		for ((l = 0; l < leaves; l++)); do
			[[ " $* " == *" $l-$s "* ]] || printf '[%d] "S-10%02x"[%d] # "leaf%d" %s\n' $((l + 1)) "$l" $((hosts + s + 1)) "$l" "$(lid 1 1)"
		done
		echo
	done
	for ((h = 0; h < leaves * hosts; h++)); do
		printf 'caguid=0x%x\nCa 1 "H-%x" # "h%d"\n[1] "S-10%02x"[%d] # "leaf%d" %s\n\n' $((16 * (h + 1))) $((16 * (h + 1))) "$h" $((h / hosts)) $((h % hosts + 1)) $((h / hosts)) "$(lid 1 1)"
	done
}

sm() {
	mkdir -p "$root/in"
	cat "$1" >"$root/in/net"
	# shellcheck disable=SC2016
	printf '%s\n' 'export IBSIM_SOCKNAME=findings SIM_HOST=h0 OSM_TMP_DIR=/tmp OSM_CACHE_DIR=/tmp
mkdir -p /var/log
(cd /tmp; exec ibsim -s -n /in/net >/tmp/ibsim.log 2>&1 </dev/null) &
for i in $(seq 100); do grep -q "simulator ready" /tmp/ibsim.log 2>/dev/null && break; sleep .1; done
once() { timeout 60 ibsim-run opensm -o -e -s 0 -f /tmp/osm.log -D 0x43 --dump_files_dir /tmp "$@" >/tmp/osm.out 2>&1; }' "$2" 'kill %1' >"$root/in/commands"
	inside bash /in/commands
}
