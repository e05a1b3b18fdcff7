package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"evbench/internal/wire"
	"evbench/scenario"
	"evbench/transport/mpi"
)

// tokenVariable is the environment variable with the secret of a run whose ranks
// are started together.
const tokenVariable = "EVBENCH_TOKEN"

// controlPort is where the controller listens when nothing else is said.
const controlPort = "7777"

// A started run is this process' part in a run whose ranks are there already:
// one rank is the controller and measures, the others are the servers, in order
// of rank.
type started struct {
	s          *scenario.Scenario
	at         place
	controller int
	control    string // "unix:PATH", "tcp:HOST:PORT", "tls:HOST:PORT", or controlMPI
	token      string
	world      *mpi.World // nil: without MPI
}

// controlMPI is the control connection that MPI carries. Every rank of the job
// is trusted, so that there is no token.
const controlMPI = "mpi"

// newStarted checks all that can be wrong in the same way on every rank.
func newStarted(c *cli.Context, s *scenario.Scenario, at place) (*started, error) {
	r := &started{s: s, at: at, controller: c.Int("controller-rank")}
	ranks := s.Tree.Servers() + 1
	switch {
	case s.Transport == scenario.MPI && !mpi.Built:
		return nil, usage(mpi.ErrNotBuilt)
	case s.Transport != scenario.MPI && at.by == "":
		return nil, notStarted(c.Args().First(), ranks)
	case s.Transport != scenario.MPI && at.size == 0:
		return nil, usagef("%s says the rank of this process, but nothing says how many there are: start it with mpirun or srun", at.by)
	case s.Launch.Hosts != "" || s.Launch.Placement != "":
		return nil, usagef("launch.hosts and launch.placement are for launch by ssh: with kind started the order of ranks says which server is where")
	case r.controller < 0 || r.controller >= ranks:
		return nil, usagef("--controller-rank %d: must be 0..%d", r.controller, ranks-1)
	}
	if err := r.checkRanks(); err != nil {
		return nil, err
	}
	if err := checkHosts(s); err != nil {
		return nil, err
	}
	var err error
	if r.control, err = controlOf(s, at, r.controller); err != nil {
		return r, err
	}
	if r.control == controlMPI {
		if c.Bool("tls") {
			err = usagef("--tls: MPI carries the control connection; launch.control: tcp:HOST:PORT has one of its own")
		}
		return r, err
	}
	if r.control, err = secured(c, r.control); err != nil {
		return r, err
	}
	if r.token, err = sharedToken(c, os.Getenv); at.rank == r.controller {
		warnOpen(c) // once is enough
	}
	return r, err
}

// checkRanks wants one rank for each server, and the controller; it has nothing
// against a number that is not known yet.
func (r *started) checkRanks() error {
	n := r.s.Tree.Servers()
	if r.at.size == 0 || r.at.size == n+1 {
		return nil
	}
	return usagef("the topology has %d servers: start %d ranks (1 controller + %d), not %d", n, n+1, n, r.at.size)
}

func notStarted(name string, ranks int) error {
	return usagef("launch: {kind: started}: this process was not started by mpirun or srun: mpirun -n %d evbench run %s", ranks, name)
}

// controlOf returns where the workers reach the controller: where the scenario
// says, or over MPI, or at a port of the host that the first rank is known to be
// on.
func controlOf(s *scenario.Scenario, at place, controller int) (string, error) {
	control := s.Launch.Control
	switch {
	case control != "":
		if err := wire.CheckAddress(control); err != nil {
			return "", usagef("launch.control: %w", err)
		}
		return control, nil
	case s.Transport == scenario.MPI:
		return controlMPI, nil
	case at.oneMachine():
		return "tcp:127.0.0.1:" + controlPort, nil
	case at.first != "" && controller == 0:
		return "tcp:" + net.JoinHostPort(at.first, controlPort), nil
	}
	return "", usagef("launch.control is missing: where the workers reach rank %d, such as control: \"tcp:node001:%s\"", controller, controlPort)
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

// sharedToken returns the secret that every rank has been given.
func sharedToken(c *cli.Context, env lookup) (string, error) {
	if c.IsSet("token-file") {
		return readToken(c)
	}
	if token := strings.TrimSpace(env(tokenVariable)); token != "" {
		return token, nil
	}
	return "", usagef("the control connection is TCP and needs a secret that all ranks know: --token-file FILE, or in the environment: "+
		"export %s=$(head -c 24 /dev/urandom | base64)", tokenVariable)
}

// enter joins the world of MPI where the run needs it. Whether it is the one
// that was started is known only then.
func (r *started) enter(name string) error {
	if r.s.Transport != scenario.MPI {
		return nil
	}
	yieldWhenCrowded(r.at)
	w, err := mpi.Start()
	if err != nil {
		return err
	}
	switch {
	case w.Size() == 1 && r.at.size > 1:
		err = usagef("MPI (%s) sees one rank, the environment %d: they were started by what this MPI does not know; "+
			"try srun --mpi=pmix or --mpi=pmi2, or the mpirun of the same MPI", w.Library(), r.at.size)
	case w.Size() == 1:
		err = notStarted(name, r.s.Tree.Servers()+1)
	default:
		r.at.rank, r.at.size = w.Rank(), w.Size()
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
func yieldWhenCrowded(at place) {
	const name = "OMPI_MCA_mpi_yield_when_idle"
	if _, said := os.LookupEnv(name); !said && at.locals > runtime.NumCPU() {
		_ = os.Setenv(name, "1") // fails for names that are none
	}
}

// server returns the rank among the servers.
func (r *started) server() int {
	if r.at.rank > r.controller {
		return r.at.rank - 1
	}
	return r.at.rank
}

// quietly has an error that all ranks have met printed by one of them: by the
// rank that is to print, or, if a file or machine is to blame, by one on each
// machine. The others end well, since a launcher that sees one end badly kills
// those that have something to say.
func (p place) quietly(err error, printer int) error {
	if p.size > 0 && printer >= p.size {
		printer = 0
	}
	_, file := errors.AsType[*fs.PathError](err)
	_, here := errors.AsType[*machineError](err)
	if err == nil || p.by == "" || p.rank == printer || (file || here) && p.local == 0 {
		return err
	}
	return &exitError{code: exitDone}
}

// alone refuses a run that starts its own servers, but has itself been started
// many times over.
func (p place) alone(s *scenario.Scenario) error {
	if p.size > 1 {
		return usagef("launch: {kind: %s}: each of the %d ranks would run all of %s: write launch: {kind: started}, or start evbench once",
			cmp.Or(s.Launch.Kind, scenario.LaunchLocal), p.size, s.Name)
	}
	return nil
}

// mpiAddress is how a worker says its rank of the world.
func mpiAddress(rank int) string { return "mpi:" + strconv.Itoa(rank) }

func parseMPIAddress(s string) (rank int, err error) {
	digits, ok := strings.CutPrefix(s, "mpi:")
	if rank, err = strconv.Atoi(digits); !ok || err != nil || rank < 0 {
		return 0, fmt.Errorf("%q is not the address of an MPI rank: does this worker run over another transport?", s)
	}
	return rank, nil
}
