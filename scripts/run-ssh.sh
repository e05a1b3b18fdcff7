#!/usr/bin/env bash
# Runs a scenario of plain hosts (fabric: {kind: hosts}) on hosts that ssh reaches.
usage='usage: scripts/run-ssh.sh SCENARIO [OPTION of evbench run]…
environment:
  HOSTS    host list, as "node[001-032],node040"; with it, SCENARIO has no launch: of its own
  LAUNCH   with HOSTS: more fields of launch, as "user: daq, network: 10.1.0.0/16, data_port: 7100"
  EVBENCH  evbench on this machine (default: bin/evbench beside this script, or that of PATH)
Without HOSTS the scenario says it: launch: {kind: ssh, hosts: …}. ssh must come in without asking (keys or an agent).
evbench checks all hosts, copies itself to those that do not have it, and leaves nothing else there.
The exit code is that of evbench run: 2 when a host cannot be used, and then nothing was started.'
set -euo pipefail
case ${1:-} in
'' | -*)
	echo "$usage" >&2
	exit 2
	;;
esac
scenario=$1
shift

if [ -z "${EVBENCH:-}" ]; then
	EVBENCH=$(cd "$(dirname "$0")/.." && pwd)/bin/evbench
	[ -x "$EVBENCH" ] || EVBENCH=$(command -v evbench)
fi
if [ -z "${HOSTS:-}" ]; then
	exec "$EVBENCH" run "$scenario" "$@"
fi

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
copy=$dir/$(basename "$scenario") # results are named after it
{
	cat "$scenario"
	printf '\nlaunch: {kind: ssh, hosts: "%s"%s}\n' "$HOSTS" "${LAUNCH:+, $LAUNCH}"
} >"$copy"
# Signals are for evbench, which then writes what was measured; this shell waits.
set -m
"$EVBENCH" run "$copy" "$@" &
trap 'kill -INT $!' INT
trap 'kill -TERM $!' TERM
wait $! || while kill -0 $! 2>/dev/null; do wait $! || true; done
wait $!
