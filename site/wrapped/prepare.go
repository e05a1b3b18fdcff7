package wrapped

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"evbench/companion"
	"evbench/companion/linux"
	"evbench/internal/answer"
	"evbench/internal/atomicfile"
	"evbench/plan"
	"evbench/scheduler/judge"
	"evbench/site/engines"
	"evbench/site/lft"
	"evbench/site/netfile"
	"evbench/site/network"
	"evbench/site/opensm"
	"evbench/site/ports"
)

// Where the paths of a plan can be installed.
const (
	NoRoutes = "none"
	Kernel   = "kernel"
	OpenSM   = "opensm"
)

// Options say what to run, and for which network or plan.
type Options struct {
	Source   *netfile.Source // nil: PlanFile is used as it is
	Network  string          // name of Source
	PlanFile string
	Schedule string // file of a schedule of the user's own for the tree of the job's hosts; "": it is planned
	Hosts    string // hosts of the job, a list; "": mpirun is asked
	HostFile string // its name in errors
	ByRank   bool   // ranks are the hosts of the network in order
	Out      string // file for the plan; "": one in Temp

	Routes string          // NoRoutes, Kernel or OpenSM
	Shell  []string        // of Kernel: runs a command on a switch
	Load   *opensm.Manager // of OpenSM; without a Process only files are written. Dir is Kernel's, too; "": none
	Engine string          // tables of runs without the plan; "": the existing ones
	Seed   uint64

	// Paths are those by source ports, over which connections are chosen; nil: there is no choice.
	Paths *ports.Paths

	Temp string // directory for files needed while the program runs

	// Order orders the messages of hosts over the tables that the network has; nil: a plan has routes of
	// its own, in a tree. Routes are then NoRoutes.
	Order func(nodes []network.Node, hosts []plan.Host) (*Ordered, error)
	// Judge checks a plan over given tables.
	Judge func(*judge.File) (*Ordered, error)
}

// Ordered is a plan that orders messages over given tables.
type Ordered struct {
	Hash   string
	Phases int
	Least  float64               // message times: no order takes fewer
	Write  func(io.Writer) error // nil: it is in a file already
	Answer answer.Answer         // how good the order is
}

// Prepare plans, writes the plan, and completes a session. A launcher without a command is for
// later. It refuses wrong input, and tables of a directory that another process owns; it does not
// touch the network.
func Prepare(ctx context.Context, o Options, s *Session, r *Report) error {
	s.Order.Times = filepath.Join(o.Temp, "times")
	r.Schema, r.Network, r.Routes, r.Rounds = Schema, o.Network, o.Routes, s.Rounds
	if o.Paths != nil {
		if err := s.programs(ctx, o.Temp); err != nil {
			return err
		}
		return byPorts(ctx, o, s, r)
	}
	if o.Source == nil {
		if err := taken(o, s, r); err != nil {
			return err
		}
		return s.programs(ctx, o.Temp)
	}
	if err := s.programs(ctx, o.Temp); err != nil {
		return err
	}
	hosts, err := hostsOf(ctx, o, s.Launcher)
	if err != nil {
		return err
	}
	o.Out = cmp.Or(o.Out, filepath.Join(o.Temp, "plan.txt"))
	if o.Order != nil {
		return ordered(o, s, r, hosts)
	}
	own, err := ownSchedule(o.Schedule)
	if err != nil {
		return err
	}
	j, err := newJob(o.Source.Whole, o.Source.Net, hosts, own)
	if err != nil {
		return fmt.Errorf("%s: %w", o.Network, err)
	}
	s.choose(j.Plan.Hosts)
	if err := atomicfile.Write(o.Out, j.Write); err != nil {
		return err
	}
	r.about(j)
	if s.Order.Plan, err = filepath.Abs(o.Out); err != nil || o.Routes == NoRoutes {
		return err
	}
	return s.tables(o, j)
}

func (s *Session) programs(ctx context.Context, temp string) (err error) {
	if len(s.Launcher.Command) == 0 {
		return nil
	}
	if err := s.Launcher.Check(ctx); err != nil {
		return err
	}
	library := s.Order.Library
	if library == "" {
		library, err = s.Launcher.Library(ctx, temp)
	} else if library, err = filepath.Abs(library); err == nil {
		_, err = os.Stat(library)
	}
	if err == nil {
		s.Order.Library, err = s.Launcher.loadable(ctx, library, temp)
	}
	return err
}

// ordered plans the messages of hosts over the tables that are in place.
func ordered(o Options, s *Session, r *Report, hosts []Host) error {
	nodes, named := make([]network.Node, len(hosts)), []plan.Host(nil)
	for i, h := range hosts {
		if nodes[i] = h.Node; h.Name != "" {
			named = append(named, plan.Host{Name: h.Name, Ranks: h.Ranks, Adapter: h.Adapter, Order: h.Order})
		}
	}
	made, err := o.Order(nodes, named)
	if err != nil {
		return fmt.Errorf("%s: %w", o.Network, err)
	}
	if err := atomicfile.Write(o.Out, made.Write); err != nil {
		return err
	}
	r.Plan, r.Phases, r.order = made.Hash, made.Phases, made.Answer
	r.serves(hosts, made.Least)
	return s.follow(o.Out, named)
}

// HostOf returns the host of each adapter, which follow one another; nil if each is a host.
func HostOf(adapters []plan.Host) (of []int) {
	hosts := -1
	for i, a := range adapters {
		if i == 0 || a.Name != adapters[i-1].Name {
			hosts++
		}
		of = append(of, hosts)
	}
	if hosts == len(adapters)-1 {
		return nil
	}
	return of
}

// taken uses a plan as it is, after checking that it is one.
func taken(o Options, s *Session, r *Report) error {
	file := o.PlanFile
	f, err := atomicfile.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	in := bufio.NewReader(f)
	if magic, _ := in.Peek(2); string(magic) == "\x1f\x8b" {
		return fmt.Errorf("%s: packed with gzip, which the library of the ranks does not read; unpack it first", file)
	}
	made, err := judge.Read(in)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if o.Judge != nil && made.Over != nil {
		made, err := o.Judge(made)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		r.Plan, r.Phases = made.Hash, made.Phases
		return s.follow(file, nil)
	}
	p, err := plan.Of(made, engines.Trees())
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if err := p.Tree.AllBoth("programs are wrapped with plans"); err != nil {
		return fmt.Errorf("%s: %w; plan without --readers and --builders", file, err)
	}
	r.Plan, r.Phases = p.Hash(), p.Phases()
	return s.follow(file, nil)
}

// follow has ranks follow the plan of a file, use the adapters of hosts, nil meaning those in its header, and send with
// its path bits.
func (s *Session) follow(name string, hosts []plan.Host) (err error) {
	if s.Order.Plan, err = filepath.Abs(name); err != nil {
		return err
	}
	f, err := atomicfile.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	h, err := headerIn(f)
	if err != nil {
		return err
	}
	if hosts == nil {
		hosts = h.hosts
	}
	s.choose(hosts)
	s.send(h.bits)
	return nil
}

func hostsOf(ctx context.Context, o Options, l *Launcher) (out []Host, err error) {
	list, from := network.AllHosts(o.Source.Net), o.Network
	if !o.ByRank {
		text := o.Hosts
		if from = o.HostFile; text == "" {
			from = "mpirun's map"
			if text, err = l.Map(ctx); err != nil {
				return nil, err
			}
		}
		if list, err = network.ReadJob(strings.NewReader(text), o.Source.Net); err == nil && len(list.Names) != list.Hosts() {
			err = fmt.Errorf("%d names for %d hosts of the network", len(list.Names), list.Hosts())
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w (--by-rank takes ranks for the hosts of the network in their order)", from, err)
		}
	}
	for i, v := range list.Nodes {
		h := Host{Node: v, Ranks: list.Slots}
		at := i
		if list.Host != nil {
			at, h.Order = list.Host[i], i
		}
		switch {
		case list.Names != nil:
			h.Name, h.Adapter = list.Names[at], list.Adapters[i]
		case list.Host != nil:
			h.Name = AnyHost + strconv.Itoa(at)
		}
		out = append(out, h)
	}
	if list.Host == nil {
		return out, nil
	}
	if list.Slots > 1 {
		return nil, fmt.Errorf("%s: %d ranks on each of %d adapters: hosts with several adapters have one rank on each", from, list.Slots, len(out))
	}
	if err := l.oneEach(ctx, out); err != nil {
		return nil, fmt.Errorf("%s: %w", from, err)
	}
	return out, nil
}

// tables sets how the plan's tables, and those before, are installed in the network.
func (s *Session) tables(o Options, j *Job) error {
	ours, err := j.Routes()
	if err != nil {
		return err
	}
	if s.After, err = s.install(o, ours); err == nil {
		err = s.puts.Own()
	}
	if err != nil || o.Engine == "" {
		return err
	}
	t, err := engines.Compute(o.Engine, o.Source.Net, engines.Options{Roots: o.Source.Roots, Seed: o.Seed})
	if err != nil {
		return err
	}
	own, err := opensm.OfTables(t)
	if err != nil {
		return fmt.Errorf("engine %s: %w", o.Engine, err)
	}
	s.Before, err = s.install(o, own)
	return err
}

// install returns a function that installs tables; all share one former state.
func (s *Session) install(o Options, r *opensm.Routes) (func(context.Context) error, error) {
	if o.Routes == Kernel {
		return s.kernel(o, r.Tables)
	}
	switch {
	case s.puts != nil:
	case o.Load.Process == "":
		s.puts = opensm.Files{Dir: o.Load.Dir}.Installation()
	default:
		s.puts = o.Load.Installation(false)
	}
	return func(ctx context.Context) error {
		_, err := s.puts.Install(ctx, r)
		return err
	}, nil
}

func (s *Session) kernel(o Options, t *lft.Tables) (func(context.Context) error, error) {
	tables, err := engines.OfNetwork(t, o.Source.Whole)
	if err != nil {
		return nil, fmt.Errorf("--routes kernel: %w", err)
	}
	b, err := linux.OfTables(tables, t.Engine)
	if err != nil {
		return nil, fmt.Errorf("--routes kernel: %w", err)
	}
	if s.puts == nil {
		shell := linux.NewShell(o.Shell, b)
		shell.Limit = o.Load.Wait
		s.puts = &companion.Installation{Switches: shell, Kind: linux.Kind, Dir: o.Load.Dir}
	}
	return func(ctx context.Context) error {
		if err := s.puts.Own(); err != nil {
			return err
		}
		if o.Load.Dir != "" {
			if _, err := b.Write(o.Load.Dir); err != nil {
				return err
			}
		}
		_, err := s.puts.Install(ctx, b)
		return err
	}, nil
}
