#!/usr/bin/env bash
# Runs a scenario of plain hosts (fabric: {kind: hosts}) on hosts that ssh reaches.
usage='usage: scripts/run-ssh.sh [--hosts FILE|LIST] SCENARIO [OPTION of evbench run]…
  --hosts  in place of HOSTS
environment:
  HOSTS    hosts, as "node[001-032],node040" or "node1 node2", or a file of them, one a line; with
           it, SCENARIO has no launch: of its own
  LAUNCH   with HOSTS: more fields of launch, as "user: daq, network: 10.1.0.0/16, data_port: 7100"
  EVBENCH  evbench on this machine (default: bin/evbench beside this script, or that of PATH)
Without HOSTS the scenario has to say it: launch: {kind: ssh, hosts: …}. ssh must come in without asking (keys or an agent).
evbench checks all hosts, copies itself to those that do not have it, and leaves nothing else there.
The exit code is that of evbench run: 2 when a host cannot be used, and then nothing was started.'
set -euo pipefail
if [ "${1:-}" = --hosts ] && [ -n "${2:-}" ]; then
	HOSTS=$2
	shift 2
fi
case ${1:-} in
'' | -*)
	echo "$usage" >&2
	exit 2
	;;
esac
scenario=$1
shift

# wrong says what is wrong with the input.
wrong() {
	echo "run-ssh.sh: $1" >&2
	exit 2
}

# by_ssh reports whether the scenario says that its servers are started by ssh.
by_ssh() {
	local line launch=
	while IFS= read -r line || [ -n "$line" ]; do
		case $line in
		launch:*) launch=yes ;;
		[!\ #]*) launch= ;;
		esac
		if [ -n "$launch" ] && [[ $line =~ kind:[[:space:]]*[\"\']?ssh ]]; then return 0; fi
	done <"$scenario"
	return 1
}

# names turns lines of hosts, with comments, into one list.
names() {
	local line name some all=()
	while IFS= read -r line || [ -n "$line" ]; do
		IFS=$', \t\r' read -ra some <<<"${line%%#*}"
		for name in ${some[@]+"${some[@]}"}; do
			[ -z "$name" ] || all+=("$name")
		done
	done
	local IFS=,
	echo "${all[*]-}"
}

[ -r "$scenario" ] || wrong "$scenario: cannot be read"
if [ -z "${EVBENCH:-}" ]; then
	EVBENCH=$(cd "$(dirname "$0")/.." && pwd)/bin/evbench
	[ -x "$EVBENCH" ] || EVBENCH=$(command -v evbench) || wrong "evbench is missing: make build, or say with EVBENCH where it is"
fi
if [ -z "${HOSTS:-}" ]; then
	by_ssh || wrong "HOSTS is missing, and $scenario has no launch: {kind: ssh, hosts: …}: all would run on this machine"
	exec "$EVBENCH" run "$scenario" "$@"
fi
case $HOSTS in
*/* | *.txt | *.list | *.hosts | [a-z]*file) [ -f "$HOSTS" ] || wrong "HOSTS: there is no file $HOSTS" ;;
esac
if [ -f "$HOSTS" ]; then
	[ -r "$HOSTS" ] || wrong "HOSTS: $HOSTS cannot be read"
	hosts=$(names <"$HOSTS")
else
	hosts=$(printf '%s\n' "$HOSTS" | names)
fi
[ -n "$hosts" ] || wrong "HOSTS: $HOSTS names no host"

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
copy=$dir/$(basename "$scenario") # results are named after it
{
	cat "$scenario"
	printf '\nlaunch: {kind: ssh, hosts: "%s"%s}\n' "$hosts" "${LAUNCH:+, $LAUNCH}"
} >"$copy"
# Signals are for evbench, which then writes what was measured; this shell waits.
set -m
for s in INT TERM HUP; do trap '[ -n "${!:-}" ] || exit 130; kill -'$s' $!' $s; done
evbench=("$EVBENCH")
if setpriv --pdeathsig TERM true 2>/dev/null; then evbench=(setpriv --pdeathsig TERM "$EVBENCH"); fi # ends with this script, however that ends
"${evbench[@]}" run "$copy" "$@" &
wait $! || while kill -0 $! 2>/dev/null; do wait $! || true; done
wait $!
