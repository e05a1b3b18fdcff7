#!/usr/bin/env bash
# Runs a scenario (launch: {kind: started}) as a job of Slurm.
usage='usage: scripts/run-slurm.sh [sbatch|salloc|srun] SCENARIO [OPTION of evbench run]…
  sbatch  queue it as a job, and print the number of the job (default)
  salloc  wait for nodes, and run it on them from here
  srun    run it on the nodes of the job that this shell is in
environment:
  SLURM_OPTIONS  options of sbatch and salloc, such as "-N 9 --exclusive --time 10 -p batch"
  LAUNCHER       srun or mpirun, which starts the ranks inside of the job (default: srun)
  MPI_TYPE       of srun --mpi=… (srun --mpi=list); transport mpi with Open MPI wants pmix (default: as the site says)
  EVBENCH        evbench, in the same place on all nodes (default: bin/evbench beside this script, or that of PATH)
  EVBENCH_TOKEN  secret of the ranks where they talk TCP (default: drawn for this run)
One rank for each server and one for the controller. Without launch.control in the scenario, TCP control is port 7777
of the first node. The exit code of salloc and srun is that of evbench run.'
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
how=sbatch
case ${1:-} in
sbatch | salloc | srun)
	how=$1
	shift
	;;
esac
case ${1:-} in
'' | -*)
	echo "$usage" >&2
	exit 2
	;;
esac

if [ -z "${EVBENCH:-}" ]; then
	EVBENCH=$here/../bin/evbench
	[ -x "$EVBENCH" ] || EVBENCH=$(command -v evbench)
fi
export EVBENCH EVBENCH_TOKEN=${EVBENCH_TOKEN:-$(head -c 24 /dev/urandom | base64)}
ranks=$("$EVBENCH" validate --ranks "$1")
read -ra options <<<"${SLURM_OPTIONS:-}"

case $how in
sbatch)
	# Slurm runs a copy of a batch script elsewhere: it is told where this one is.
	printf -v job '%q ' "$here/run-slurm.sh" srun "$@"
	exec sbatch -n "$ranks" --job-name evbench "${options[@]}" --wrap "exec $job"
	;;
salloc)
	exec salloc -n "$ranks" --job-name evbench "${options[@]}" "$here/run-slurm.sh" srun "$@"
	;;
esac
if [ "${LAUNCHER:-srun}" = mpirun ]; then
	exec "$here/run-mpirun.sh" "$@"
fi
# One rank that fails ends all: the others would wait for it.
exec srun -n "$ranks" --kill-on-bad-exit=1 ${MPI_TYPE:+"--mpi=$MPI_TYPE"} "$EVBENCH" run "$@"
