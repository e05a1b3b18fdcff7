#!/usr/bin/env bash
# Open MPI 4.1.4 (Debian 12) puts its session directory ompi.… below what --mca orte_tmpdir_base names.
# 5.0.7 (Debian 13) takes the option without a word and does not follow it; there the directory is
# called prterun.…, and --prtemca prte_tmpdir_base moves it.
. "$(dirname "$0")/root.sh"
suite() {
	rm -rf "$root"
	root "$1" "openmpi-bin=$2" hostname openssh-client findutils
	cat >"$root/commands" <<'EOS'
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
mkdir /tmp/base
made() { find /tmp -maxdepth 2 -mindepth 1 \( -name 'ompi.*' -o -name 'prte*' \) -printf '%P ' | sed 's/[.][0-9.a-z]*//g'; }
export -f made
run() { local rc=0 out; out=$(mpirun.openmpi -n 1 "$@" 2>/tmp/err) || rc=$?; echo "$version, ${*:1:3}: exit $rc, session ${out:-none}"; }
version=$(mpirun.openmpi --version | grep -oE '[0-9]+[.][0-9.]+' | head -n 1)
run --mca orte_tmpdir_base /tmp/base bash -c made
[ "${version%%.*}" = 4 ] ||
	run --prtemca prte_tmpdir_base /tmp/base bash -c made
EOS
	inside bash /commands
}
seen=$(suite bookworm 4.1.4-3+b1; suite trixie 5.0.7-1)
show "$seen"
expect '4.1.4 takes its directory' "$seen" '^4.1.4, --mca orte_tmpdir_base /tmp/base: exit 0, session base/ompi'
expect '5.0.7 ignores it' "$seen" '^5.0.7, --mca orte_tmpdir_base /tmp/base: exit 0, session prterun'
expect '5.0.7 has another option for it' "$seen" '^5.0.7, --prtemca prte_tmpdir_base /tmp/base: exit 0, session base/prterun'
