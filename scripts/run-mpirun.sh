#!/usr/bin/env bash
# Runs a scenario (launch: {kind: started}) under Open MPI's mpirun.
usage='usage: scripts/run-mpirun.sh [--hosts FILE|LIST] SCENARIO [OPTION of evbench run]…
  --hosts      a file as HOSTFILE names it, or a list of hosts with a rank each, "node[001-016],node020"
environment:
  HOSTFILE     file of hosts, "node001 slots=2" a line; none: those of the PBS or Slurm job, else this machine
  NETWORK      network that MPI and its daemons use, as 10.1.0.0/16 (default: all; on this machine alone: lo)
  MPIRUN       mpirun and its options (default: mpirun), such as MPIRUN="mpirun --map-by node --mca pml ucx"
  EVBENCH      evbench, in the same place on all hosts (default: bin/evbench beside this script, or that of PATH)
  EVBENCH_TOKEN  secret of the ranks where they talk TCP (default: drawn for this run)
As root, mpirun wants OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1.
The exit code is that of evbench run. Ctrl-C ends the ranks in order, a second one mpirun.'
set -euo pipefail

# expand prints the names of a list, one a line: node[001-003] is node001, node002 and node003.
expand() {
	local item before after range from n
	for item in $(grep -oE '([^][, ]|\[[^]]*\])+' <<<"$1"); do
		if ! [[ $item =~ ^([^][]*)\[([0-9,-]+)\](.*)$ ]]; then
			echo "$item"
			continue
		fi
		before=${BASH_REMATCH[1]} after=${BASH_REMATCH[3]}
		for range in ${BASH_REMATCH[2]//,/ }; do
			from=${range%-*} # whose width all have at least
			for n in $(seq -f "%0${#from}.0f" "$from" "${range#*-}"); do expand "$before$n$after"; done
		done
	done
}

# rising reports whether each range of a list goes up, by less than the hosts that evbench takes.
rising() {
	local range
	for range in $(grep -oE '\[[^]]*\]' <<<"$1" | grep -oE '[0-9]+-[0-9]+'); do
		[[ $range =~ ^[0-9]{1,9}-[0-9]{1,9}$ ]] && ((10#${range#*-} - 10#${range%-*} >= 0 && 10#${range#*-} - 10#${range%-*} < 1 << 20)) || return 1
	done
}

list=
if [ "${1:-}" = --hosts ]; then
	if [ -f "${2:-}" ]; then HOSTFILE=$2; else list=${2:-}; fi
	[ -n "${2:-}" ] || { echo "$usage" >&2; exit 2; }
	range='[0-9]+(-[0-9]+)?'
	item="([^][(),#/\\ ]|\[$range(,$range)*\])+"
	[[ -z $list || $list =~ ^$item((, *| +)$item)*$ ]] && rising "$list" || { echo "run-mpirun.sh: --hosts $list: not a list of hosts such as node[001-016]" >&2; exit 2; }
	shift 2
fi
case ${1:-} in
'' | -*)
	echo "$usage" >&2
	exit 2
	;;
esac

if [ -z "${EVBENCH:-}" ]; then
	EVBENCH=$(cd "$(dirname "$0")/.." && pwd)/bin/evbench
	[ -x "$EVBENCH" ] || EVBENCH=$(command -v evbench)
fi
ranks=$("$EVBENCH" validate --ranks "$1")
export EVBENCH_TOKEN=${EVBENCH_TOKEN:-$(head -c 24 /dev/urandom | base64)}

options=(-n "$ranks" -x EVBENCH_TOKEN)
if [ -n "$list" ]; then
	options+=(--host "$(expand "$list" | sed 's/$/:1/' | paste -sd,)")
elif [ -n "${HOSTFILE:=${PBS_NODEFILE:-}}" ]; then
	options+=(--hostfile "$HOSTFILE")
elif [ -z "${SLURM_JOB_ID:-}" ]; then
	options+=(--oversubscribe)
	NETWORK=${NETWORK:-lo}
fi
read -ra mpirun <<<"${MPIRUN:-mpirun}"
named=$("$EVBENCH" mpi options ${NETWORK:+--network "$NETWORK"} -- "${mpirun[@]}")
[ -z "$named" ] || mapfile -t -O ${#options[@]} options <<<"$named"

# The ranks are told first, by a signal that mpirun passes on: told itself, that of Open MPI 5 kills them
# half a second later, while they write results or bring links up. In a group of its own a terminal does not tell it.
set -m
if setpriv --pdeathsig TERM true 2>/dev/null; then mpirun=(setpriv --pdeathsig TERM "${mpirun[@]}"); fi # ends with this script, however that ends
job= signal=USR1 again=
tell() {
	[ -n "${job:=${!:-}}" ] || exit 130 # there is no mpirun yet
	kill -s $signal $job || true
	told=yes
	[ $signal = USR1 ] || return 0
	signal=TERM
	# mpirun passes it to ranks that have begun, and to no other.
	(pause=1 && while sleep $pause && kill -s USR1 $job; do pause=$((2 * pause)); done) >/dev/null 2>&1 &
	again=$!
	disown $again # bash would tell a terminal of its end
}
trap tell INT QUIT TERM HUP
"${mpirun[@]}" "${options[@]}" "$EVBENCH" run "$@" </dev/null &
: "${job:=$!}"
while :; do
	told='' code=0
	wait $job || code=$?
	[ -n "$told" ] && [ $code -gt 128 ] || break # else wait has ended, not mpirun
done
[ -z "$again" ] || kill -- -$again 2>/dev/null || true
[ $code != 138 ] || code=130 # SIGUSR1 met mpirun or a rank at its start
exit $code
