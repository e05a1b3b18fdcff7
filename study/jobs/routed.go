package jobs

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"evbench/internal/answer"
	"evbench/internal/lists"
	"evbench/internal/show"
	"evbench/site/engines/opensm"
	"evbench/site/lft"
	"evbench/site/network"
)

// Routed is the result of routing for jobs.
type Routed struct {
	Schema    string   `json:"schema"`
	Source    string   `json:"source"`
	Jobs      int      `json:"jobs"`       // across switches
	OneSwitch int      `json:"one_switch"` // left out
	Hosts     int      `json:"hosts"`      // of the jobs across switches
	Unknown   []string `json:"unknown"`    // nodes that the network does not have
	Change    *Change  `json:"change,omitempty"`
	Routings  []Load   `json:"routings"`
	CanLock   bool     `json:"can_deadlock"` // on the lanes that there are
	Lanes     int      `json:"lanes"`        // that the best tables take
	Written   bool     `json:"written"`
	Signalled bool     `json:"signalled"`
	Installed bool     `json:"installed"` // loaded by OpenSM, read back and equal

	Time  *time.Time `json:"time,omitempty"`  // where jobs are followed
	Error string     `json:"error,omitempty"` // why nothing was done, where jobs are followed

	Asked bool `json:"-"` // to write
}

// A Load is the edge forwarding index of the jobs under one routing.
type Load struct {
	Routing string `json:"routing"`
	*opensm.EFI
}

// NewRouted returns the state for a network of that name before routing.
func NewRouted(source string) *Routed {
	return &Routed{Schema: "evbench/routes-jobs/1", Source: source, Unknown: []string{}, Routings: []Load{}}
}

// Place finds the hosts of jobs and classes. Jobs come in the order of their hosts, independent of
// the list, so that equal placements have equal routes.
func (r *Routed) Place(n *network.Network, list []Job, classes *Classes) opensm.Placement {
	var p opensm.Placement
	names := network.NewHostNames(n)
	for _, j := range list {
		var hosts []network.Node
		for _, name := range j.Nodes {
			own, called, err := names.All(name)
			if err != nil {
				r.Unknown = append(r.Unknown, called)
				continue
			}
			hosts = append(hosts, own...)
		}
		if len(hosts) > 0 {
			p.Jobs = append(p.Jobs, hosts)
		}
	}
	all := len(p.Jobs)
	p.Jobs = opensm.MultiSwitch(n, p.Jobs)
	slices.SortFunc(p.Jobs, slices.Compare)
	r.Jobs, r.OneSwitch = len(p.Jobs), all-len(p.Jobs)
	for _, j := range p.Jobs {
		r.Hosts += len(j)
	}
	slices.Sort(r.Unknown)
	r.Unknown = slices.Compact(r.Unknown)
	for h := range network.Node(n.Hosts()) {
		switch classes.of(n.HostName(h)) {
		case ioNode:
			p.IO = append(p.IO, h)
		case otherNode:
			p.Other = append(p.Other, h)
		}
	}
	return p
}

// Compared are the compared routings, by the steps they leave out: without regard to jobs, as
// published, and better.
var Compared = []opensm.Steps{opensm.AllSteps, opensm.LookAhead, 0}

func tablesFor(n *network.Network, p opensm.Placement, ways []opensm.Steps) ([]*lft.Tables, error) {
	var tables []*lft.Tables
	for _, p.Without = range ways {
		t, err := opensm.Jobs(n, p, 0)
		if err != nil {
			return nil, err
		}
		tables = append(tables, t)
	}
	return tables, nil
}

// Route routes for the jobs, and returns the best tables for them. If those can deadlock they get
// lanes, up to that many; 0 leaves them unchanged. Independent code judges them.
func (r *Routed) Route(n *network.Network, p opensm.Placement, lanes int) (*lft.Tables, error) {
	tables, err := tablesFor(n, p, Compared)
	if err != nil {
		return nil, err
	}
	last := len(tables) - 1
	if r.CanLock = !lft.Deadlock(tables[last]).Free(); r.CanLock && lanes > 0 {
		if tables[last], err = opensm.Jobs(n, p, lanes); err != nil {
			return nil, err
		}
		if d := lft.Deadlock(tables[last]); !d.Free() {
			return nil, fmt.Errorf("with %d virtual lanes routes still wait for each other: %s", d.Lanes, strings.Join(d.Names, ", "))
		}
		r.CanLock = false
	}
	tables[last].RouteOthers()
	r.Lanes = tables[last].Lanes()
	r.Routings = lists.Map(tables, func(t *lft.Tables) Load { return Load{t.Engine, opensm.Index(t, p.Jobs)} })
	return tables[last], nil
}

// Lost is how many routes within jobs lead nowhere in the best tables.
func (r *Routed) Lost() int64 { return int64(r.Routings[len(r.Routings)-1].Lost) }

// Answer says how many routes of the jobs share a cable over the new tables.
func (r *Routed) Answer() answer.Answer {
	best, plain := r.Routings[len(r.Routings)-1], r.Routings[0]
	var e answer.Evidence
	f := answer.Finding{Text: fmt.Sprintf("over the tables of %s a cable carries at most %s of jobs, over those of %s %d", best.Routing, show.Plural(int(best.Max), "route", "routes"), plain.Routing, plain.Max), Place: answer.At}
	switch {
	case best.Lost > 0:
		f = answer.Finding{Text: fmt.Sprintf("%s of jobs lead nowhere", show.Plural(int(best.Lost), "route", "routes")), Place: answer.Below}
	case r.CanLock:
		f.Text, f.Place = f.Text+", but packets can block each other in a cycle", answer.Below
		f.Cause = "give lanes (--lanes 8)"
	case r.Jobs == 0:
		f.Text = "no job runs across switches: the tables serve all hosts alike"
	}
	e.Findings = []answer.Finding{f}
	return answer.Decide(answer.Changes, e)
}

func (r *Routed) WriteText(w io.Writer) error {
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tab, "network\t%s\n", r.Source)
	fmt.Fprintf(tab, "jobs\t%d across switches on %d hosts, %d within one switch\n", r.Jobs, r.Hosts, r.OneSwitch)
	if c := r.Change; c != nil {
		fmt.Fprintf(tab, "since last\t%d started, %d ended, %d moved\n", len(c.Started), len(c.Ended), len(c.Moved))
	}
	for _, e := range r.Routings {
		fmt.Fprintf(tab, "%s\tat most %d routes of jobs on a cable, mean %.1f; %d of %d unused\n", e.Routing, e.Max, e.Mean, e.Unused, e.Cables)
		if e.Lost > 0 {
			fmt.Fprintf(tab, "warning\t%d routes of %s lead nowhere\n", e.Lost, e.Routing)
		}
	}
	if len(r.Unknown) > 0 {
		fmt.Fprintf(tab, "warning\tnot in the network: %s\n", show.Few(r.Unknown))
	}
	switch {
	case r.Lanes > 1:
		fmt.Fprintf(tab, "deadlock\tnone on %d virtual lanes\n", r.Lanes)
	}
	if done := r.done(); done != "" {
		fmt.Fprintf(tab, "done\t%s\n", done)
	}
	return tab.Flush()
}

// Following routes anew whenever the set of jobs across switches has changed: the filtering tool of
// Domke and Hoefler (Fig. 4). It checks the queue repeatedly, leaves out jobs within one switch,
// and compares the hosts of the others with the last time. In addition it checks the network.
type Following struct {
	Source  string // what the network is called
	From    string // the file of the jobs, or the command that prints them, for messages
	Classes *Classes
	Lanes   int // as for Route

	// List returns the running jobs, and Network the present network. After an error, which is
	// reported, nothing changes until the next look.
	List    func(context.Context) ([]Job, error)
	Network func(context.Context) (*network.Network, error)
	// Install installs tables. After an error they are installed again at the next look.
	Install func(context.Context, *Routed, *lft.Tables) error
	// Tell receives the result, or the reason why nothing was done.
	Tell func(*Routed, error)
	// Wait waits until the next look. Its error ends Run.
	Wait func(context.Context) error

	net  *network.Network // of the tables that are installed; nil: none are
	jobs [][]network.Node
	list []Job
}

// Run looks at the jobs, and again after each Wait, until that returns an error or ctx ends.
func (f *Following) Run(ctx context.Context) error {
	for {
		r, err := f.look(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if r != nil || err != nil {
			f.Tell(r, err)
		}
		if err := f.Wait(ctx); err != nil {
			return err
		}
	}
}

// look returns nil if nothing has changed.
func (f *Following) look(ctx context.Context) (*Routed, error) {
	n, err := f.Network(ctx)
	if err != nil {
		return nil, fmt.Errorf("the network: %w", err)
	}
	list, err := f.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("the jobs: %w", err)
	}
	r := NewRouted(f.Source)
	p := r.Place(n, list, f.Classes)
	if f.net != nil && sameNetwork(f.net, n) && slices.EqualFunc(f.jobs, p.Jobs, slices.Equal) {
		return nil, nil
	}
	change := Diff(f.list, list)
	r.Change = &change
	t, err := r.Route(n, p, f.Lanes)
	if err != nil {
		return r, err
	}
	f.net = nil // also where they are installed by half
	if err := f.Install(ctx, r, t); err != nil {
		return r, err
	}
	f.net, f.jobs, f.list = n, p.Jobs, list
	return r, nil
}

// sameNetwork reports whether tables for one network fit the other.
func sameNetwork(a, b *network.Network) bool {
	if a == b {
		return true
	}
	if a.Nodes() != b.Nodes() || a.Hosts() != b.Hosts() {
		return false
	}
	for v := range network.Node(a.Nodes()) {
		if a.Info(v) != b.Info(v) || !slices.Equal(a.Ends(v), b.Ends(v)) {
			return false
		}
	}
	return true
}

// Line is the action, or why there was none, in one line.
func (r *Routed) Line() string {
	var parts []string
	if c := r.Change; c != nil {
		parts = append(parts, fmt.Sprintf("%d started, %d ended, %d moved", len(c.Started), len(c.Ended), len(c.Moved)),
			fmt.Sprintf("%d jobs across switches on %d hosts", r.Jobs, r.Hosts))
	}
	if n := len(r.Routings); n > 0 {
		best, plain := r.Routings[n-1], r.Routings[0]
		parts = append(parts, fmt.Sprintf("at most %d routes of jobs on a cable, mean %.1f (%s: %d)", best.Max, best.Mean, plain.Routing, plain.Max))
	}
	if len(r.Unknown) > 0 {
		parts = append(parts, fmt.Sprintf("%d nodes not in the network", len(r.Unknown)))
	}
	if r.CanLock {
		parts = append(parts, "ROUTES CAN DEADLOCK")
	}
	if done := r.done(); r.Error != "" {
		parts = append(parts, r.Error)
	} else if done != "" {
		parts = append(parts, done)
	}
	return strings.Join(parts, "; ")
}

func (r *Routed) done() string {
	switch {
	case r.Installed:
		return "loaded by OpenSM, read back and compared"
	case r.Signalled:
		return "written, and OpenSM signalled"
	case r.Written:
		return "written"
	case r.Asked:
		return "nothing: the file has these tables already"
	}
	return ""
}
