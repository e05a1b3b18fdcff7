package open

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"evbench/controller/wire"
	"evbench/internal/proc"
	"evbench/scenario"
	"evbench/transport/mpi"
	"evbench/worker"
)

const controlPort = "7777"

// ControlMPI is the control connection that MPI carries. Every rank of the job
// is trusted, so that there is no token.
const ControlMPI = "mpi"

// A Rank is this process' part in a run whose ranks are there already.
type Rank struct {
	Place      Place
	controller int    // rank of the controller
	Control    string // "unix:PATH", "tcp:HOST:PORT", "tls:HOST:PORT", or ControlMPI
	Token      string

	s     *scenario.Scenario
	name  string     // of its file
	world *mpi.World // nil: without MPI
}

// NewRank returns this process' part in a run of a scenario, which is in the file of that name. It
// checks what can be wrong in the same way on every rank.
func NewRank(s *scenario.Scenario, name string, at Place, controller int) (*Rank, error) {
	r := &Rank{Place: at, controller: controller, s: s, name: name}
	ranks := s.Tree.Servers() + 1
	switch {
	case s.Transport == scenario.MPI && !mpi.Built:
		return nil, proc.Usage(mpi.ErrNotBuilt)
	case s.Transport != scenario.MPI && at.By == "":
		return nil, r.notStarted()
	case s.Transport != scenario.MPI && at.Size == 0:
		return nil, proc.Usagef("%s says the rank of this process, but nothing says how many there are: start it with mpirun or srun", at.By)
	case s.Launch.Hosts != "" || s.Launch.Placement != "":
		return nil, proc.Usagef("launch.hosts and launch.placement are for launch by ssh: with kind started the order of ranks says which server is where")
	case controller < 0 || controller >= ranks:
		return nil, proc.Usagef("--controller-rank %d: must be 0..%d", controller, ranks-1)
	}
	return r, r.checkRanks()
}

// checkRanks wants one rank for each server, and the controller; it has nothing
// against a number that is not known yet.
func (r *Rank) checkRanks() error {
	n := r.s.Tree.Servers()
	if r.Place.Size == 0 || r.Place.Size == n+1 {
		return nil
	}
	return proc.Usagef("the topology has %d servers: start %d ranks (1 controller + %d), not %d", n, n+1, n, r.Place.Size)
}

func (r *Rank) notStarted() error {
	return proc.Usagef("launch: {kind: started}: this process was not started by mpirun or srun: mpirun -n %d evbench run %s", r.s.Tree.Servers()+1, r.name)
}

// FindControl finds out where the workers reach the controller.
func (r *Rank) FindControl() (err error) {
	r.Control, err = controlOf(r.s, r.Place, r.controller)
	return err
}

// controlOf returns where the workers reach the controller: where the scenario
// says, or over MPI, or at a port of the host that the first rank is known to be
// on.
func controlOf(s *scenario.Scenario, at Place, controller int) (string, error) {
	control := s.Launch.Control
	switch {
	case control != "":
		if err := wire.CheckAddress(control); err != nil {
			return "", proc.Usagef("launch.control: %w", err)
		}
		return control, nil
	case s.Transport == scenario.MPI:
		return ControlMPI, nil
	case at.oneMachine():
		return "tcp:127.0.0.1:" + controlPort, nil
	case at.first != "" && controller == 0:
		return "tcp:" + net.JoinHostPort(at.first, controlPort), nil
	}
	return "", proc.Usagef("launch.control is missing: where the workers reach rank %d, such as control: \"tcp:node001:%s\"", controller, controlPort)
}

// listenOn returns where the controller listens when workers dial control: at that
// address, or at the one that its name stands for. A host may know itself by an address
// that leads nowhere else (127.0.1.1 on Debian), or by several; then it is all that
// are here.
func listenOn(control string, here []string, lookup func(host string) ([]string, error)) string {
	kind, hostport, err := wire.SplitAddress(control)
	if err != nil || kind == "unix" {
		return control
	}
	host, port, err := net.SplitHostPort(hostport)
	if err != nil || net.ParseIP(host) != nil {
		return control
	}
	found, err := lookup(host)
	if err == nil && len(found) == 1 && slices.Contains(here, found[0]) && !net.ParseIP(found[0]).IsLoopback() {
		return kind + ":" + net.JoinHostPort(found[0], port)
	}
	return kind + "::" + port
}

// Enter joins the world of MPI where the run needs it. Whether it is the one
// that was started is known only then.
func (r *Rank) Enter() error {
	if r.s.Transport != scenario.MPI {
		return nil
	}
	yieldWhenCrowded(r.Place)
	w, err := mpi.Start()
	if err != nil {
		return err
	}
	switch {
	case w.Size() == 1 && r.Place.Size > 1:
		err = proc.Usagef("MPI (%s) sees one rank, the environment %d: they were started by what this MPI does not know; "+
			"try srun --mpi=pmix or --mpi=pmi2, or the mpirun of the same MPI", w.Library(), r.Place.Size)
	case w.Size() == 1:
		err = r.notStarted()
	default:
		r.Place.Rank, r.Place.Size = w.Rank(), w.Size()
		err = r.checkRanks()
	}
	if err != nil {
		return errors.Join(err, w.Close())
	}
	r.world = w
	return nil
}

// yieldWhenCrowded has Open MPI hand over the processor when more ranks than
// processors are on this machine: ranks that spin for each other's messages
// are slower a hundred times. mpirun --oversubscribe does so, srun does not.
func yieldWhenCrowded(at Place) {
	const name = "OMPI_MCA_mpi_yield_when_idle"
	if _, said := os.LookupEnv(name); !said && at.Locals > runtime.NumCPU() {
		_ = os.Setenv(name, "1") // fails for names that are none
	}
}

// Controls reports whether this rank is the controller.
func (r *Rank) Controls() bool { return r.Place.Rank == r.controller }

func (r *Rank) server() int {
	if r.Place.Rank > r.controller {
		return r.Place.Rank - 1
	}
	return r.Place.Rank
}

// Leave leaves the world of MPI. If this rank aborts, all ranks end with its exit code:
// those that wait for this one would do so forever.
func (r *Rank) Leave(code int, abort bool) error {
	if r.world == nil {
		return nil
	}
	if abort {
		r.world.Abort(code)
	}
	return r.world.Close()
}

func openMPI(w *mpi.World) worker.OpenFunc {
	return func(ctx context.Context, c wire.Configure, _ func()) (worker.Connections, error) {
		g := mpi.Group{ID: c.Run, Rank: c.Rank}
		for _, p := range c.Peers {
			if len(p.Addrs) == 0 {
				return worker.Connections{}, fmt.Errorf("server%d has not said where it is reached", p.Server)
			}
			rank, err := parseMPIAddress(p.Addrs[0])
			if err != nil {
				return worker.Connections{}, fmt.Errorf("server%d: %w", p.Server, err)
			}
			g.Ranks = append(g.Ranks, rank)
		}
		ep, err := w.Open(ctx, g)
		if err != nil {
			return worker.Connections{}, err
		}
		return worker.Connections{Endpoint: ep, Signals: ep, Barrier: ep.Barrier}, nil
	}
}

func mpiAddress(rank int) string { return "mpi:" + strconv.Itoa(rank) }

func parseMPIAddress(s string) (rank int, err error) {
	digits, ok := strings.CutPrefix(s, "mpi:")
	if rank, err = strconv.Atoi(digits); !ok || err != nil || rank < 0 {
		return 0, fmt.Errorf("%q is not the address of an MPI rank: does this worker run over another transport?", s)
	}
	return rank, nil
}
