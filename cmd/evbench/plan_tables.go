package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"evbench/internal/answer"
	"evbench/internal/lists"
	"evbench/internal/proc"
	"evbench/model/order"
	"evbench/model/sizes"
	"evbench/plan"
	"evbench/routing"
	"evbench/site/engines"
	"evbench/site/engines/minmax"
	"evbench/site/lft"
	"evbench/site/netfile"
	"evbench/site/network"
	"evbench/site/wrapped"
)

// planTables plans an order of messages over the tables of a network of any shape.
func planTables(c *cli.Context) error {
	if slices.Contains([]string{routing.Adaptive, routing.Spray, routing.ECMP}, c.String("engine")) {
		return anyWay(c, "--engine "+c.String("engine"))
	}
	var watch stopwatch
	x, err := asked(c)
	if err == nil {
		err = x.follow(c, &watch)
	}
	if err == nil && c.IsSet("sizes") {
		return planSized(c, x, &watch)
	}
	if err == nil {
		err = x.plan(c)
	}
	if err != nil {
		return err
	}
	return x.write(c, &watch)
}

// An ordering is the messages of an exchange, the tables that they go over, and the order planned.
type ordering struct {
	s    *netfile.Source
	bits []uint8
	t    *lft.Tables
	job  network.Job
	o    lft.Job
	*order.Plan
}

// asked is the exchange of the flags, without tables.
func asked(c *cli.Context) (*ordering, error) {
	s, job, bits, err := networkAndJob(c)
	if err != nil {
		return nil, err
	}
	if s.Whole.Adaptive {
		return nil, anyWay(c, "adaptive routing")
	}
	if err := checkPlans(len(job.Nodes), 1); err != nil {
		return nil, err
	}
	x := &ordering{s: s, bits: bits, job: job, o: lft.Job{Nodes: job.Nodes, Host: job.Host, Drop: c.Bool("drop-unreachable")}}
	x.o.Reads, x.o.Builds, err = rolesOf(c, s.Net, job.Nodes)
	return x, err
}

// follow takes the tables of the flags.
func (x *ordering) follow(c *cli.Context, watch *stopwatch) (err error) {
	watch.stage("tables")
	if x.t, err = givenTables(c, x.s, x.bits); err != nil {
		return err
	}
	watch.stage("order")
	x.o.Drop, err = leftOut(c, x.s, x.t, x.o)
	return err
}

// overEngine plans the order of an exchange over the tables of an engine, and says how long it takes.
func overEngine(c *cli.Context, watch *stopwatch) func(engine string) (*ordering, float64, error) {
	var all *ordering
	return func(engine string) (x *ordering, time float64, err error) {
		if err = c.Set("engine", engine); err == nil && all == nil {
			all, err = asked(c)
		}
		if err != nil {
			return nil, 0, err
		}
		one := *all
		if err = one.follow(c, watch); err == nil {
			err = one.plan(c)
		}
		if err != nil {
			return nil, 0, err
		}
		return &one, one.Time(one.Schedule), nil
	}
}

func (x *ordering) plan(c *cli.Context) (err error) {
	if x.Plan, err = proc.Made(c.Context, func() (*order.Plan, error) { return order.Make(c.String("topology"), x.t, x.o, 0) }); err != nil {
		return notDelivered(c, err)
	}
	x.Plan.Hosts = namesIn(x.s, x.job)
	return nil
}

func (x *ordering) write(c *cli.Context, watch *stopwatch) error {
	watch.stage("")
	p := x.Plan
	write := p.WriteText
	if c.String("format") == "json" {
		write = p.WriteJSON
	}
	return writePlan(c, watch, write, func(w io.Writer) {
		f := p.Figures()
		a := p.Answer(f)
		if name := c.String("out"); name != "" && name != "-" && !strings.HasSuffix(name, ".gz") && c.String("format") != "json" { // what mpi wrap reads
			check := []string{"--any-tables"}
			if c.IsSet("tables") {
				check = []string{"-t", c.String("topology"), "--tables", c.String("tables")}
				for _, flag := range []string{"down", "lmc", "lids"} {
					if c.IsSet(flag) {
						check = append(check, "--"+flag, fmt.Sprint(c.Value(flag)))
					}
				}
			}
			a.Next = []string{fmt.Sprintf("evbench mpi wrap %s --plan %s -- mpirun -n %d PROGRAM", answer.Typed(check...), answer.Typed(name), len(p.Over.Job.Nodes))}
		}
		_ = a.WriteText(w)
		p.Describe(w, f)
	})
}

// anyWay is the error for a network that gives messages no way of their own, with what holds for every order.
func anyWay(c *cli.Context, why string) error {
	s, err := readSource(c, c.String("topology"))
	if err != nil {
		return err
	}
	job, err := jobOf(c, s)
	if err != nil {
		return err
	}
	least, err := leastOf(c, s, job)
	if err != nil {
		return err
	}
	return usagef("%s: no table says which way a message takes, so there is no order over tables; no order at all takes less than %.6g steps", why, least)
}

// leastOf is what no order of the messages of a job takes less than, whichever ways they take.
func leastOf(c *cli.Context, s *netfile.Source, job network.Job) (float64, error) {
	sizes := [2]int{len(job.Nodes), len(job.Nodes)}
	reads, builds, err := rolesOf(c, s.Net, job.Nodes)
	if err != nil {
		return 0, err
	}
	for i, own := range [][]bool{reads, builds} {
		if own != nil {
			sizes[i] = lists.CountIf(own, func(is bool) bool { return is })
		}
	}
	peers := max(sizes[0], sizes[1])
	if job.Host == nil && !c.IsSet("hosts") && !c.IsSet("readers") && !c.IsSet("builders") {
		return math.Ceil(max(float64(peers-1), minmax.Bound(s.Net)) * (1 - 1e-9)), nil
	}
	own := 1 // adapters of one host
	for _, of := range lists.By(job.Host, func(h int) int { return h }) {
		own = max(own, len(of))
	}
	return float64(peers - own), nil
}

// planSized plans when each fragment of an exchange starts whose sizes differ.
func planSized(c *cli.Context, x *ordering, watch *stopwatch) error {
	if n := len(x.job.Nodes); n > mostSized {
		return usagef("--sizes: %d hosts; evbench plans sizes over given tables for at most %d", n, mostSized)
	}
	bytes, err := sizesOver(c, x.s.Net, x.job.Nodes)
	if err != nil {
		return err
	}
	p, err := proc.Made(c.Context, func() (*order.Sized, error) { return order.MakeSized(c.String("topology"), x.t, x.o, bytes, 0) })
	if err != nil {
		return notDelivered(c, err)
	}
	watch.stage("")
	p.Hosts = namesIn(x.s, x.job)
	return writePlan(c, watch, p.WriteText, func(w io.Writer) { _ = p.Answer().WriteText(w) })
}

// mostSized is for how many hosts sizes are planned over given tables: some seconds.
const mostSized = 512

// sizesOver reads the matrix of --sizes: bytes by source·hosts + destination.
func sizesOver(c *cli.Context, n *network.Network, nodes []network.Node) ([]int64, error) {
	stated, err := opened(c.String("sizes"), sizes.ReadMatrix)
	if err != nil {
		return nil, wrongIn("--sizes "+c.String("sizes"), err)
	}
	rank, names := map[network.Node]int{}, network.NewHostNames(n)
	for i, v := range nodes {
		rank[v] = i
	}
	m, err := stated.For(len(nodes), func(name string) (int, bool) {
		if v, _, err := names.Find(name); err == nil {
			r, there := rank[v]
			return r, there
		}
		r, err := strconv.Atoi(strings.TrimPrefix(name, "server"))
		return r, err == nil && r >= 0 && r < len(nodes)
	})
	if err != nil {
		return nil, wrongIn("--sizes "+c.String("sizes"), err)
	}
	out := lists.Tabulate(len(nodes)*len(nodes), func(at int) int64 { return m.Size(at/len(nodes), at%len(nodes)) })
	return out, nil
}

// leftOut reports whether messages that the tables do not deliver are left out: where the user says so, and where they are
// between networks that no cable joins by design.
func leftOut(c *cli.Context, s *netfile.Source, t *lft.Tables, o lft.Job) (bool, error) {
	apart := s.Whole.Disconnected()
	if o.Drop || apart == nil {
		return o.Drop, nil
	}
	pairs := 0
	o.Skip = func(src, dst int) bool {
		is := apart(o.Nodes[src], o.Nodes[dst])
		if is {
			pairs++
		}
		return is
	}
	if _, err := t.Exchange(o); err != nil {
		return false, notDelivered(c, err)
	}
	return pairs > 0, nil
}

func notDelivered(c *cli.Context, err error) error {
	if lost, ok := errors.AsType[*lft.LostError](err); ok {
		hint := "--drop-unreachable leaves out what the tables do not deliver"
		if c.IsSet("collective") {
			hint = "several networks: --engine minmax, or --hosts with those of one"
		}
		return usagef("%s: %w (%s)", tablesName(c), lost, hint)
	}
	return usage(err)
}

// namesIn are the hosts of a plan: those of the job's list or, in a file, of the network. Adapters have hosts in any
// case, those without a name one of AnyHost.
func namesIn(s *netfile.Source, job network.Job) (out []plan.Host) {
	named := job.Names != nil && len(job.Names) == job.Hosts() // no host by two names
	if !named && (s.Form != netfile.Notation || job.Host != nil) {
		out = hostsOf(s.Net, job.Nodes, job.Host, job.Slots)
	}
	if out != nil || !named && job.Host == nil {
		return out
	}
	for i := range job.Nodes {
		at := i
		if job.Host != nil {
			at = job.Host[i]
		}
		h := plan.Host{Name: wrapped.AnyHost + strconv.Itoa(at), Ranks: job.Slots, Order: i}
		if named {
			h.Name, h.Adapter = job.Names[at], job.Adapters[i]
		}
		out = append(out, h)
	}
	return out
}

// networkAndTables are a network of any shape, its tables, and the hosts of a job.
func networkAndTables(c *cli.Context) (s *netfile.Source, t *lft.Tables, job network.Job, err error) {
	s, job, bits, err := networkAndJob(c)
	if err == nil {
		t, err = givenTables(c, s, bits)
	}
	return s, t, job, err
}

// networkAndJob are a network of any shape, the hosts of a job, and their path bits. A network without LIDs gets
// some for the tables of an engine.
func networkAndJob(c *cli.Context) (s *netfile.Source, job network.Job, bits []uint8, err error) {
	if s, err = readSource(c, c.String("topology")); err != nil {
		return nil, job, nil, err
	}
	if c.IsSet("engine") {
		if s.Net, err = s.Net.WithSomeLIDs(); err != nil {
			return nil, job, nil, usage(err)
		}
	}
	if bits, err = pathBits(c, s.Net); err == nil {
		job, err = jobOf(c, s)
	}
	return s, job, bits, err
}

// jobOf is the hosts of --hosts, or all, with a note where some take no part.
func jobOf(c *cli.Context, s *netfile.Source) (network.Job, error) {
	if !c.IsSet("hosts") {
		if above := s.Whole.AboveNote(); above != "" {
			fmt.Fprintf(c.App.ErrWriter, "%s: %s\n", c.String("topology"), above)
		}
		return network.AllHosts(s.Whole), nil
	}
	job, err := netfile.ReadHosts(c.String("hosts"), s.Net)
	return job, wrongIn("--hosts", err)
}

// ranksOf is which hosts a flag names; nil without it.
func ranksOf(c *cli.Context, flag string, n *network.Network, nodes []network.Node) ([]bool, error) {
	if !c.IsSet(flag) {
		return nil, nil
	}
	job, err := netfile.ReadRole(c.String(flag), n)
	ranks := order.Ranks(nodes, job.Nodes)
	if err == nil && !slices.Contains(ranks, true) {
		err = fmt.Errorf("none of %s is one of --hosts", c.String(flag))
	}
	return ranks, wrongIn("--"+flag, err)
}

// rolesOf are the hosts that send, and those that receive; nil without their flags.
func rolesOf(c *cli.Context, n *network.Network, nodes []network.Node) (reads, builds []bool, err error) {
	if reads, err = ranksOf(c, "readers", n, nodes); err == nil {
		builds, err = ranksOf(c, "builders", n, nodes)
	}
	is := func(yes bool) bool { return yes }
	if err == nil && slices.Equal(reads, builds) && lists.CountIf(reads, is) == 1 {
		err = usagef("--readers, --builders: the only reader is the only builder: there is no fragment to send")
	}
	return reads, builds, err
}

func tablesName(c *cli.Context) string {
	if c.IsSet("tables") {
		return "--tables " + c.String("tables")
	}
	return "--engine " + c.String("engine")
}

// givenTables are the tables of --tables, or those that the engine of --engine computes, for hosts with these path bits.
func givenTables(c *cli.Context, s *netfile.Source, bits []uint8) (t *lft.Tables, err error) {
	if c.String("tables") != "" {
		t, err = readRoutes(c.String("tables"), s.Net)
	} else {
		t, err = proc.Made(c.Context, func() (*lft.Tables, error) {
			return engines.Compute(c.String("engine"), s.Net, engines.Options{Roots: s.Roots, Seed: c.Uint64("seed"), Bits: bits})
		})
	}
	if err != nil {
		return nil, usage(err)
	}
	t.Bits = bits
	return t, nil
}

// pathBits are the path bits of hosts with --path-bits, else nil.
func pathBits(c *cli.Context, n *network.Network) ([]uint8, error) {
	if !c.Bool("path-bits") {
		return nil, nil
	}
	bits, err := n.PathBits()
	if err != nil {
		return nil, usagef("--path-bits: %w", err)
	}
	return bits, nil
}
