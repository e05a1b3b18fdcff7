#!/usr/bin/env bash
# Open MPI's btl tcp 4.1.4 (Debian 12) with a port range of one port a rank, as a firewall may leave it
# (btl_tcp_port_min_v4, btl_tcp_port_range_v4): a second job on the host finds "no port available" while connections of the first
# are in TIME_WAIT, a minute, as it binds without SO_REUSEADDR. The job then has no way between ranks and ends with an error.
# With more ports than ranks the next ones are taken. The message names one port more than the range has.
. "$(dirname "$0")/root.sh"
root bookworm netpipe-openmpi=3.7.2-8+b1 openmpi-bin=4.1.4-3+b1 hostname openssh-client
cat >"$root/commands" <<'EOS'
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
version=$(mpirun.openmpi --version | grep -oE '[0-9]+[.][0-9.]+' | head -n 1)
# job MIN RANGE: one job of two ranks, and what it says of its ports
job() {
	local said code=0
	said=$(timeout 200 mpirun.openmpi --mca mpi_yield_when_idle 1 --mca pml ob1 --mca btl tcp,self --mca btl_tcp_if_include lo --mca btl_tcp_port_min_v4 "$1" \
		--mca btl_tcp_port_range_v4 "$2" --oversubscribe -n 2 NPopenmpi -u 64 2>&1) || code=$?
	echo "$version, range of $2: exit $code; $(grep -oE 'no port available in the range [^ ]+' <<<"$said" | head -n 1)"
}
for i in 1 2 3; do job 21000 2; done
for i in 1 2 3; do job 22000 40; done
EOS
seen=$(inside bash /commands)
show "$seen"
expect 'a second job on the same two ports finds none' "$seen" '^4.1.4, range of 2: exit [1-9][0-9]*; no port available in the range'
expect 'with 40 ports all three jobs run' "$(grep -c '^4.1.4, range of 40: exit 0; $' <<<"$seen")" '^3$'
