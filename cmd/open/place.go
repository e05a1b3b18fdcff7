package open

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"evbench/internal/hostlist"
)

// A Place is this process' position among those started together by mpirun, srun, flux or an
// Indexed Job of Kubernetes, according to the environment.
type Place struct {
	By         string // the variable with the rank; "": this process was started alone
	Rank, Size int    // Size 0: not known
	// Local is the rank among the processes on this machine, and Locals is their number; 0: not
	// known.
	Local, Locals int
	first         string // host of rank 0; "": not known
}

// A Lookup returns an environment variable, or "".
type Lookup func(name string) string

// starters are the variables of launchers, innermost first: an mpirun inside a Slurm job sets its
// own beside Slurm's.
var starters = []struct{ rank, size, local, locals string }{
	{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
	{"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
	{"PMIX_RANK", "", "", ""},
	{"FLUX_TASK_RANK", "FLUX_JOB_SIZE", "FLUX_TASK_LOCAL_ID", ""},
	{"SLURM_PROCID", "", "", ""},
	{"JOB_COMPLETION_INDEX", "JOB_COMPLETIONS", "", ""}, // scripts/kubernetes/job.yaml sets the second
}

func ReadPlace(env Lookup) (Place, error) {
	for _, s := range starters {
		if env(s.rank) == "" || s.rank == "SLURM_PROCID" && !inStep(env) || s.rank == "JOB_COMPLETION_INDEX" && env(s.size) == "" {
			continue
		}
		p := Place{By: s.rank}
		err := numbers(env, map[string]*int{s.rank: &p.Rank, s.size: &p.Size, s.local: &p.Local, s.locals: &p.Locals})
		if err == nil && inStep(env) && !strings.HasPrefix(s.rank, "OMPI_") {
			err = p.slurm(env)
		}
		if err == nil && !strings.HasPrefix(s.rank, "OMPI_") {
			p.flux(env)
		}
		if err == nil && p.Size > 0 && p.Rank >= p.Size {
			err = fmt.Errorf("%s is %d, but there are %d ranks", s.rank, p.Rank, p.Size)
		}
		return p, err
	}
	return Place{}, nil
}

// inStep reports whether srun has started this process: a batch script has a rank in its
// environment, too, but runs alone.
func inStep(env Lookup) bool {
	_, err := strconv.Atoi(env("SLURM_STEP_ID"))
	return err == nil
}

func (p *Place) slurm(env Lookup) error {
	var node, nodes int
	tasks := "SLURM_NTASKS"
	if env("SLURM_STEP_NUM_TASKS") != "" {
		tasks = "SLURM_STEP_NUM_TASKS" // a step may have fewer than its job
	}
	err := numbers(env, map[string]*int{
		tasks: &p.Size, "SLURM_LOCALID": &p.Local, "SLURM_NODEID": &node, "SLURM_STEP_NUM_NODES": &nodes,
	})
	if err != nil {
		return err
	}
	if names, err := hostlist.Expand(cmp.Or(env("SLURM_STEP_NODELIST"), env("SLURM_JOB_NODELIST"))); err == nil {
		p.first = names[0] // otherwise unknown
	}
	if each, err := hostlist.Tasks(env("SLURM_STEP_TASKS_PER_NODE"), hostlist.Max); err == nil && node < len(each) {
		p.Locals = each[node]
	} else if nodes == 1 {
		p.Locals = p.Size
	}
	return nil
}

// flux adds Flux's data to a rank of its PMI.
func (p *Place) flux(env Lookup) {
	if env("FLUX_TASK_RANK") != strconv.Itoa(p.Rank) || env("FLUX_JOB_SIZE") != strconv.Itoa(p.Size) {
		return // of an outer job
	}
	if local, err := strconv.Atoi(env("FLUX_TASK_LOCAL_ID")); err == nil && local >= 0 {
		p.Local = local
	}
	if env("FLUX_JOB_NNODES") == "1" {
		p.Locals = p.Size
	}
}

func numbers(env Lookup, to map[string]*int) error {
	for name, n := range to {
		s := env(name)
		if name == "" || s == "" {
			continue
		}
		v, err := strconv.Atoi(s)
		if err != nil || v < 0 {
			return fmt.Errorf("environment: %s=%s is not a number of ranks", name, s)
		}
		*n = v
	}
	return nil
}
