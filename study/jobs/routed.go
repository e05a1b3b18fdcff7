package jobs

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"evbench/internal/show"
	"evbench/routing/lft"
	"evbench/routing/sssp"
	"evbench/topology/network"
)

// Routed is what routing for jobs has brought.
type Routed struct {
	Schema    string   `json:"schema"`
	Source    string   `json:"source"`
	Jobs      int      `json:"jobs"`       // across switches
	OneSwitch int      `json:"one_switch"` // left out
	Hosts     int      `json:"hosts"`      // of the jobs across switches
	Unknown   []string `json:"unknown"`    // nodes that the network does not have
	Change    *Change  `json:"change,omitempty"`
	Routings  []Load   `json:"routings"`
	CanLock   bool     `json:"can_deadlock"` // without virtual lanes
	Written   bool     `json:"written"`
	Signalled bool     `json:"signalled"`

	Asked bool `json:"-"` // to write
}

// A Load is the edge forwarding index of the jobs under one routing.
type Load struct {
	Routing string `json:"routing"`
	*sssp.EFI
}

// NewRouted returns what is known of a network of that name before anything is routed.
func NewRouted(source string) *Routed {
	return &Routed{Schema: "evbench/routes-jobs/1", Source: source, Unknown: []string{}, Routings: []Load{}}
}

// hostsByName finds the hosts of a node by the name of the host, or by its first
// word: adapters call themselves "node001 HCA-1". A node may have several.
func hostsByName(n *network.Network) map[string][]network.Node {
	at := map[string][]network.Node{}
	for h := range network.Node(n.Hosts()) {
		name := n.Info(h).Name
		at[name] = append(at[name], h)
		if word, _, more := strings.Cut(name, " "); more {
			at[word] = append(at[word], h)
		}
	}
	return at
}

// Place finds the hosts of jobs and classes.
func (r *Routed) Place(n *network.Network, list []Job, classes *Classes) sssp.Placement {
	var p sssp.Placement
	at := hostsByName(n)
	for _, j := range list {
		var hosts []network.Node
		for _, name := range j.Nodes {
			if len(at[name]) == 0 {
				r.Unknown = append(r.Unknown, name)
			}
			hosts = append(hosts, at[name]...)
		}
		p.Jobs = append(p.Jobs, hosts)
	}
	all := len(p.Jobs)
	p.Jobs = sssp.MultiSwitch(n, p.Jobs)
	r.Jobs, r.OneSwitch = len(p.Jobs), all-len(p.Jobs)
	for _, j := range p.Jobs {
		r.Hosts += len(j)
	}
	slices.Sort(r.Unknown)
	r.Unknown = slices.Compact(r.Unknown)
	for h := range network.Node(n.Hosts()) {
		name, _, _ := strings.Cut(n.Info(h).Name, " ")
		switch classes.of(name) {
		case ioNode:
			p.IO = append(p.IO, h)
		case otherNode:
			p.Other = append(p.Other, h)
		}
	}
	return p
}

// tablesFor routes without a look at jobs, as published, and better.
func tablesFor(n *network.Network, p sssp.Placement) ([]*lft.Tables, error) {
	plain, err := sssp.SSSP(n)
	if err != nil {
		return nil, err
	}
	tables := []*lft.Tables{plain}
	for _, p.Published = range []bool{true, false} {
		t, err := sssp.Jobs(n, p, 0)
		if err != nil {
			return nil, err
		}
		tables = append(tables, t)
	}
	return tables, nil
}

// Route routes for the jobs, and returns the tables that are best for them.
func (r *Routed) Route(n *network.Network, p sssp.Placement) (*lft.Tables, error) {
	tables, err := tablesFor(n, p)
	if err != nil {
		return nil, err
	}
	for _, t := range tables {
		r.Routings = append(r.Routings, Load{t.Engine, sssp.Index(t, p.Jobs)})
	}
	best := tables[len(tables)-1]
	r.CanLock = !lft.Deadlock(best, 0).Free()
	return best, nil
}

// Lost is how many routes within jobs lead nowhere in the best tables.
func (r *Routed) Lost() int64 { return int64(r.Routings[len(r.Routings)-1].Lost) }

// WriteJSON writes one document, schema evbench/routes-jobs/1.
func (r *Routed) WriteJSON(w io.Writer) error { return json.NewEncoder(w).Encode(r) }

// WriteText writes it for people.
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
	if r.CanLock {
		fmt.Fprintf(tab, "warning\troutes can deadlock without virtual lanes, which a file for OpenSM cannot give\n")
	}
	switch {
	case r.Signalled:
		fmt.Fprintf(tab, "done\twritten, and OpenSM signalled\n")
	case r.Written:
		fmt.Fprintf(tab, "done\twritten\n")
	case r.Asked:
		fmt.Fprintf(tab, "done\tnothing: the file has these tables already\n")
	}
	return tab.Flush()
}
