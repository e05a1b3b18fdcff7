#!/usr/bin/env bash
# mpirun that gets SIGINT sends its ranks SIGTERM, later SIGKILL. In Open MPI 4.1.4 (Debian 12) with
# --mca odls_base_sigkill_timeout 3 SIGTERM comes after 3 s, and SIGKILL 3 s after that. 5.0.7 (Debian 13)
# takes the option without a word: ranks get SIGTERM after 0.25 s and SIGKILL 0.25 s later, and once one of
# them has ended on SIGTERM the others are killed at once. SIGUSR1, which mpirun of both passes on, has
# nobody killed.
. "$(dirname "$0")/root.sh"
suite() {
	rm -rf "$root"
	root "$1" "openmpi-bin=$2" hostname openssh-client
	cat >"$root/rank" <<'EOS'
name=$1 trap=$2
mark() { echo "$EPOCHREALTIME $1" >>"/tmp/$name.$OMPI_COMM_WORLD_RANK"; }
trap 'mark term; [ "$trap" != "$OMPI_COMM_WORLD_RANK" ] || exit 0' TERM
trap 'mark usr1' USR1
for ((i = 0; i < 400; i++)); do sleep 0.01 || true; mark alive; done
EOS
	cat >"$root/commands" <<'EOS'
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
version=$(mpirun.openmpi --version | grep -oE '[0-9]+[.][0-9.]+' | head -n 1)
ms() { sed 's/[.]//; s/...$//' <<<"$1"; }
# try SIGNAL TRAP: how long rank 0 lives after the signal to mpirun, and after its own SIGTERM; rank TRAP ends on SIGTERM
try() {
	local name=$1$2 pid at end term
	mpirun.openmpi --mca odls_base_sigkill_timeout 3 --oversubscribe -n 2 bash /rank "$name" "$2" >/dev/null 2>&1 &
	pid=$!
	until [ -s "/tmp/$name.0" ] && [ -s "/tmp/$name.1" ]; do sleep 0.1; done
	at=$(ms "$EPOCHREALTIME")
	kill -s "$1" $pid
	wait $pid || true
	end=$(ms "$(sed -n '$s/ .*//p' "/tmp/$name.0")")
	term=$(ms "$(sed -n 's/ term$//p' "/tmp/$name.0" | head -n 1)")
	echo "$version, $1, rank that ends on SIGTERM: $2: rank 0 lives $((end - at)) ms${term:+, $((end - term)) ms of them after SIGTERM}"
}
try INT none
[ "${version%%.*}" = 4 ] || try INT 1
try USR1 none
EOS
	inside bash /commands
}
seen=$(suite bookworm 4.1.4-3+b1; suite trixie 5.0.7-1)
show "$seen"
expect '4.1.4 waits three seconds twice' "$seen" '^4.1.4, INT, .*none: rank 0 lives [5-7][0-9]{3} ms, [23][0-9]{3} ms of them after SIGTERM'
expect '5.0.7 takes the option and waits a quarter of a second' "$seen" '^5.0.7, INT, .*none: rank 0 lives [4-9][0-9]{2} ms, [2-4][0-9]{2} ms of them after SIGTERM'
expect '5.0.7 kills at once when another rank has ended' "$seen" '^5.0.7, INT, .*: 1: rank 0 lives [23][0-9]{2} ms'
expect '4.1.4 kills nobody after SIGUSR1' "$seen" '^4.1.4, USR1, .* lives ([4-9]|[1-9][0-9])[0-9]{3} ms$'
expect '5.0.7 kills nobody after SIGUSR1' "$seen" '^5.0.7, USR1, .* lives ([4-9]|[1-9][0-9])[0-9]{3} ms$'
