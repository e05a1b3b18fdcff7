package open

import (
	"errors"
	"net"
	"slices"

	"evbench/controller/wire"
	"evbench/internal/lists"
	"evbench/internal/proc"
	"evbench/scenario"
	"evbench/site/mpi"
	"evbench/transport"
)

const controlPort = "7777"

// A Rank is this process' part in a run with ranks started by a launcher.
type Rank struct {
	Place      Place
	controller int    // rank of the controller
	Control    string // "unix:PATH", "tcp:HOST:PORT", "tls:HOST:PORT", or the transport
	Token      string

	program Program
	s       *scenario.Scenario
	name    string // of its file
	over    transport.Facts
	world   world // nil: the transport is not Launched
}

// NewRank returns this process' part in a run of a scenario from the file name. It makes the checks
// whose result is the same on every rank.
func (p Program) NewRank(s *scenario.Scenario, name string, at Place, controller int) (*Rank, error) {
	r := &Rank{program: p, Place: at, controller: controller, s: s, name: name, over: transport.Of(s.Transport)}
	ranks := s.Tree.Servers() + 1
	switch {
	case p.missing(s.Transport) != nil:
		return nil, proc.Usage(p.missing(s.Transport))
	case !r.over.Launched && at.By == "":
		return nil, r.notStarted()
	case !r.over.Launched && at.Size == 0:
		return nil, proc.Usagef("%s says the rank of this process, but nothing says how many there are: start it with mpirun or srun", at.By)
	case s.Launch.Hosts != "" || s.Launch.Placement != "":
		return nil, proc.Usagef("launch.hosts and launch.placement are for launch by ssh: with kind started the order of ranks says which server is where")
	case controller < 0 || controller >= ranks:
		return nil, proc.Usagef("--controller-rank %d: must be 0..%d", controller, ranks-1)
	}
	return r, r.checkRanks()
}

// checkRanks requires one rank for each server, and the controller; it accepts an unknown number.
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

func (r *Rank) FindControl() (err error) {
	r.Control, err = controlOf(r.s, r.Place, r.controller)
	return err
}

// controlOf returns where the workers reach the controller: the address of the scenario, or a
// Launched transport, or a port of the first rank's host if that is known.
func controlOf(s *scenario.Scenario, at Place, controller int) (string, error) {
	control := s.Launch.Control
	switch {
	case control != "":
		if err := wire.CheckAddress(control); err != nil {
			return "", proc.Usagef("launch.control: %w", err)
		}
		return control, nil
	case transport.Of(s.Transport).Launched:
		return s.Transport, nil
	case at.Size > 0 && at.Locals == at.Size: // one machine
		return "tcp:127.0.0.1:" + controlPort, nil
	case at.first != "" && controller == 0:
		return "tcp:" + net.JoinHostPort(at.first, controlPort), nil
	}
	return "", proc.Usagef("launch.control is missing: where the workers reach rank %d, such as control: \"tcp:node001:%s\"", controller, controlPort)
}

// listenOn returns where the controller listens when workers dial control: at that address, or at
// the address of its name. A host may know itself by a purely local address (127.0.1.1 on Debian),
// or by several; then it is all addresses of the host.
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

// Carried reports whether the transport carries the control connection. Then every rank of the job
// is trusted, without a token.
func (r *Rank) Carried() bool { return r.Control == r.s.Transport }

// Enter joins the world of a Launched transport. Only then is it known whether it is the one that
// was started.
func (r *Rank) Enter() error {
	if !r.over.Launched {
		return nil
	}
	w, err := own[r.over.Name].start(r.Place, r.s.Timeout)
	if absent, ok := errors.AsType[*mpi.AbsentError](err); ok {
		absent.Self, absent.Names = r.nameOf(r.Place.Rank), lists.Map(absent.Ranks, r.nameOf)
		return absent
	}
	if err != nil {
		return err
	}
	switch {
	case w.Size() == 1 && r.Place.Size > 1:
		err = otherLauncher(w.Library(), r.Place)
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

func otherLauncher(library string, at Place) error {
	return proc.Usagef("MPI (%s) sees one rank, the environment %d (%s): they were started by the launcher of another MPI. "+
		"Start them by the mpirun or mpiexec of this one, or by srun --mpi=pmix or --mpi=pmi2; or build evbench for the other (MPICC=… make build)",
		library, at.Size, at.By)
}

func (r *Rank) Controls() bool { return r.Place.Rank == r.controller }

func (r *Rank) server() int { return r.serverOf(r.Place.Rank) }

func (r *Rank) serverOf(rank int) int {
	if rank > r.controller {
		return rank - 1
	}
	return rank
}

func (r *Rank) nameOf(rank int) string {
	if rank == r.controller {
		return "the controller"
	}
	return r.s.Tree.ServerName(r.serverOf(rank))
}

// Leave leaves the world that Enter joined. If this rank aborts, all ranks end with its exit code:
// ranks that wait for this one would wait forever.
func (r *Rank) Leave(code int, abort bool) error {
	if r.world == nil {
		return nil
	}
	if abort {
		r.world.Abort(code)
	}
	return r.world.Close()
}
