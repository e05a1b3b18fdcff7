package opensm

import (
	"fmt"
	"io"

	"evbench/site/lft"
	"evbench/site/network"
)

// A Change is a difference between a network and the network of saved tables: a row of Table 1 of
// the memo (§7), or one missing there.
type Change int

const (
	NewSwitch Change = iota
	MissingSwitch
	NewCable         // between switches
	MissingCable     // between switches that another cable joins
	MissingLastCable // between switches that no other cable of the saved ones joins
	MissingHostCable // between a switch and a host
	NewHost
	MissingHost
	LIDChanged
	HostMoved // to another switch; the memo leaves this open (§6)
	changes
)

var changeNames = [changes]string{"new switch", "missing switch", "new cable", "missing cable, others join its switches",
	"missing cable, no other joins its switches", "missing cable to a host", "new host", "missing host", "LID changed", "host moved"}

func (c Change) String() string { return changeNames[c] }

// An Effect is the effect of a change on saved data.
type Effect struct {
	MinHops bool // the min-hop tables are invalid: shortest ways are searched anew
	Entries bool // all entries are invalid
	Some    bool // some entries are: those through the cable's port, or to the LIDs
	Roots   bool // the roots that were found are invalid
}

// Effects are the rows of Table 1. The table treats multicast tables like forwarding tables; they
// are not computed here.
var Effects = [changes]Effect{
	NewSwitch:        {MinHops: true, Entries: true, Roots: true},
	MissingSwitch:    {MinHops: true, Entries: true, Roots: true},
	MissingCable:     {Some: true},
	MissingLastCable: {MinHops: true, Some: true},
	LIDChanged:       {Some: true},
	HostMoved:        {Some: true},
}

// A Validity says which parts of saved tables were still valid after a restart.
type Validity struct {
	Effect
	Changes [changes][]string // names of nodes, or of ports of cables
	Kept    int               // entries that were saved and are in the tables
	Chosen  int               // other entries of the tables
}

func (v *Validity) WriteText(w io.Writer) error {
	for c, names := range v.Changes {
		if len(names) > 0 {
			fmt.Fprintf(w, "%s: %d (%s%s)\n", Change(c), len(names), names[0], etc(names))
		}
	}
	state := map[bool]string{false: "valid", true: "computed anew"}
	_, err := fmt.Fprintf(w, "saved min-hop tables %s; %d entries kept, %d chosen\n", state[v.MinHops], v.Kept, v.Chosen)
	return err
}

func etc(names []string) string {
	if len(names) > 1 {
		return ", …"
	}
	return ""
}

// Restart returns the tables of a subnet manager that restarts on a network and finds its saved
// tables, for the network saved.Net (memo, §7, Table 1). OpenSM 3.3.23 saves nothing, and chooses
// all entries anew at its start. UpDown without roots takes the roots of the saved tables while the
// switches are the same.
//
// The memo saves sets of ports (min-hop tables). They follow from the cables of saved.Net, which is
// saved in their place. While they are valid, they lack new cables: no route uses a new cable, and
// the Net of the returned tables leaves it out. It is used from the next change on that makes them
// invalid.
//
// Two points beyond the memo: entries outside the new min-hop tables are chosen anew too, since
// kept ones could form loops; so are entries to a host that has moved to another switch. Entries
// are chosen as After does.
func (e Engine) Restart(n *network.Network, roots []network.Node, saved *lft.Tables) (*lft.Tables, *Validity, error) {
	m := newMatch(saved.Net, n)
	is := &Validity{}
	added := m.changes(is)
	for c, names := range is.Changes {
		if e := Effects[c]; len(names) > 0 {
			is.MinHops, is.Entries, is.Some, is.Roots = is.MinHops || e.MinHops, is.Entries || e.Entries, is.Some || e.Some, is.Roots || e.Roots
		}
	}
	if !is.MinHops && len(added) > 0 {
		n = n.Without(added, nil)
		m = newMatch(saved.Net, n)
	}
	if roots == nil && !is.Roots {
		for _, r := range saved.Roots {
			roots = append(roots, m.is[r])
		}
	}
	carried := lft.New(e.name, n)
	if !is.Entries {
		carried = m.carried(saved)
	}
	t, err := e.keep(newView(n), roots, carried)
	if err != nil {
		return nil, nil, err
	}
	is.count(t, carried)
	return t, is, nil
}

func (is *Validity) count(t, carried *lft.Tables) {
	for i := range t.Net.Switches() {
		old := carried.Row(i)
		for lid, port := range t.Row(i) {
			switch {
			case port == lft.NoPort:
			case port == old[lid]:
				is.Kept++
			default:
				is.Chosen++
			}
		}
	}
}

// changes lists the changes, and returns the new cables between switches. Only what a subnet
// manager sees counts. It does not list cables of new and missing switches.
func (m *match) changes(is *Validity) (added []network.Cable) {
	before, now := newView(m.old), newView(m.now)
	for i, seen := range now.seen {
		if was := m.was[m.now.Switch(i)]; seen && (was == network.NoNode || !before.seen[m.old.Index(was)]) {
			is.note(NewSwitch, now.name(int32(i)))
		}
	}
	for i, seen := range before.seen {
		if v := m.is[m.old.Switch(i)]; seen && (v == network.NoNode || !now.seen[m.now.Index(v)]) {
			is.note(MissingSwitch, before.name(int32(i)))
		}
	}
	for _, c := range m.now.SwitchCables() {
		if m.staysAt(before, now, c) && !m.hadCable(c) {
			is.note(NewCable, m.now.CableName(c))
			added = append(added, c)
		}
	}
	back := &match{old: m.now, now: m.old, was: m.is, is: m.was}
	for _, c := range m.old.SwitchCables() {
		if !back.staysAt(now, before, c) || back.hadCable(c) {
			continue
		}
		if back.joined(c.A.Node, c.B.Node) {
			is.note(MissingCable, m.old.CableName(c))
		} else {
			is.note(MissingLastCable, m.old.CableName(c))
		}
	}
	m.hostChanges(is, before, now)
	return added
}

func (is *Validity) note(c Change, name string) { is.Changes[c] = append(is.Changes[c], name) }

// staysAt reports whether both switches of a cable are seen, and were.
func (m *match) staysAt(before, now *view, c network.Cable) bool {
	for _, e := range []network.End{c.A, c.B} {
		was := m.was[e.Node]
		if was == network.NoNode || !before.seen[m.old.Index(was)] || !now.seen[m.now.Index(e.Node)] {
			return false
		}
	}
	return true
}

// joined reports whether an earlier cable joins two nodes.
func (m *match) joined(a, b network.Node) bool {
	for p, far := range m.now.Ends(a) {
		if far.Node == b && m.hadCable(network.Cable{A: network.End{Node: a, Port: uint8(p + 1)}, B: far}) {
			return true
		}
	}
	return false
}

// hostChanges lists the changes of hosts, and of LIDs.
func (m *match) hostChanges(is *Validity, before, now *view) {
	for v := range network.Node(m.now.Nodes()) {
		was := m.was[v]
		switch {
		case !now.sees(v):
		case was == network.NoNode || !before.sees(was):
			if m.now.IsHost(v) {
				is.note(NewHost, m.now.Info(v).Name)
			}
		case !m.sameLIDs(v):
			is.note(LIDChanged, m.now.Info(v).Name)
		case m.now.IsHost(v) && m.moved(v):
			is.note(HostMoved, m.now.Info(v).Name)
		}
	}
	for h := range network.Node(m.old.Hosts()) {
		v := m.is[h]
		switch {
		case !before.sees(h) || v != network.NoNode && now.sees(v):
		case v == network.NoNode:
			is.note(MissingHost, m.old.Info(h).Name)
		default:
			is.note(MissingHostCable, m.old.Info(h).Name)
		}
	}
}

func (v *view) sees(x network.Node) bool {
	if v.net.IsHost(x) {
		x = v.net.Leaf(x).Node
	}
	return x != network.NoNode && v.seen[v.net.Index(x)]
}
