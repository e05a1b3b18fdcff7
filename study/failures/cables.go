// Package failures answers: how often do links fail, for how long, and how many at once? It reads a
// subnet manager's log of port states, pairs downs with ups, joins both ends of a cable and the
// flaps of a link, and counts (E. Stein, "Smart scheduling and routing for data acquisition
// networks", 2024, §4.1). It also turns a log into timed failures of a scenario.
//
// The data flow: Read (one log) → Join (all logs in order of time, on cables) → Pair (failures) →
// Exclude (test periods) → Merge (flapping links) → Summarise. Every step is a pure function.
// Losses counts the gaps of a log (lost traps, cut lines, a clock set back); no step guesses
// silently.
//
// The package reads no clock. Times come from the log, taken as UTC.
package failures

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"evbench/internal/lists"
	"evbench/site/network"
	"evbench/site/osmlog"
	"evbench/topology"
)

// Cables says which ports a cable joins. Both ends of a cable report its failures, and only this
// map shows that they are one: closeness in time never joins them.
type Cables struct {
	links []Link
	ends  map[port]endRef
	nodes map[uint64][]int  // GUID of a node or of a host's port to its links
	names map[string]uint64 // of switches
}

type endRef struct {
	link int
	end  uint8
}

func newCables() *Cables {
	return &Cables{ends: map[port]endRef{}, nodes: map[uint64][]int{}, names: map[string]uint64{}}
}

func (c *Cables) fabric() (n int) {
	return lists.CountIf(c.links, func(l Link) bool { return l.class == Fabric })
}

// TreeCables returns the cables of a two-level tree, by the names and GUIDs that evbench gives
// its switches, as if all were alive and each leaf had a server on every port.
func TreeCables(t *topology.Shape) (*Cables, error) {
	n, err := network.PGFT{M: []int{t.Ports(), t.Leaves()}, W: []int{1, t.Spines()}, P: []int{1, 1}}.Build(0)
	if err != nil {
		return nil, err
	}
	return FromNetwork(n), nil
}

// FromNetwork returns the cables of a network. Links of a two-level tree are
// called leaf0-spine3, as in scenarios.
func FromNetwork(n *network.Network) *Cables {
	c := newCables()
	for i := range n.Switches() {
		v := n.Switch(i)
		for p, far := range n.Ends(v) {
			if far.Node == network.NoNode || !n.IsHost(far.Node) && (far.Node < v || far.Node == v && int(far.Port) < p+1) {
				continue
			}
			a, b := n.Info(v), n.Info(far.Node)
			l := Link{class: Fabric, ends: [2]port{{a.GUID, a.Name, p + 1}, {b.GUID, b.Name, int(far.Port)}}}
			if n.IsHost(far.Node) {
				l.class = Server
			}
			l.Name = linkName(l)
			at := c.add(l)
			c.node(a.GUID, a.Port, at)
			c.node(b.GUID, b.Port, at)
		}
	}
	return c
}

func (c *Cables) node(guid, port uint64, link int) {
	for _, g := range slices.Compact([]uint64{guid, port}) {
		if g != 0 {
			c.nodes[g] = append(c.nodes[g], link)
		}
	}
}

func (c *Cables) add(l Link) int {
	c.links = append(c.links, l)
	at := len(c.links) - 1
	for e, p := range l.ends {
		if p.guid != 0 && p.isSwitch != "" {
			c.names[p.isSwitch] = p.guid
		}
		if p.port != 0 {
			c.ends[keyOf(p)] = endRef{at, uint8(e)}
		}
	}
	return at
}

// keyOf returns a port by the GUID of its switch or, if that is not known, by name.
func keyOf(p port) port {
	if p.guid != 0 {
		p.isSwitch = ""
	}
	return p
}

// linkName names s1_3/5 to s2_0/4 leaf3-spine0, and others by both ends.
func linkName(l Link) string {
	leaf, ok1 := strings.CutPrefix(l.ends[0].isSwitch, "s1_")
	spine, ok2 := strings.CutPrefix(l.ends[1].isSwitch, "s2_")
	switch {
	case ok1 && ok2 && l.class == Fabric:
		return "leaf" + leaf + "-spine" + spine
	case ok1 && l.class == Server:
		return "leaf" + leaf + "-" + l.ends[1].isSwitch
	case l.class == Server:
		return l.ends[0].String() + "-" + l.ends[1].isSwitch
	}
	return l.ends[0].String() + "-" + l.ends[1].String()
}

// ReadCables reads a map, one cable a line:
//
//	s1_0/5 s2_0/1 leaf0-spine0
//	0x0002c90401000000/1 server h0
//
// A switch is a name without spaces or a GUID. The third word names the link;
// it may be left out. Empty lines and what follows a # at the start of a word
// are skipped.
func ReadCables(r io.Reader) (*Cables, error) {
	c, s := newCables(), bufio.NewScanner(r)
	named := map[string]bool{}
	for line := 1; s.Scan(); line++ {
		words := strings.Fields(s.Text())
		if i := slices.IndexFunc(words, func(w string) bool { return w[0] == '#' }); i >= 0 {
			words = words[:i]
		}
		if len(words) == 0 {
			continue
		}
		l, err := readCable(words)
		for _, p := range l.ends {
			if _, taken := c.ends[keyOf(p)]; err == nil && taken && p.port != 0 {
				err = fmt.Errorf("port %.60s has a cable already", p)
			}
		}
		if err == nil && named[l.Name] {
			err = fmt.Errorf("another link is called %.60s too", l.Name)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		named[l.Name] = true
		at := c.add(l)
		for _, p := range l.ends {
			c.node(p.guid, p.guid, at)
		}
	}
	if err := s.Err(); err != nil {
		return nil, err
	}
	if len(c.links) == 0 {
		return nil, fmt.Errorf("no cable in it; write lines such as: s1_0/5 s2_0/1 leaf0-spine0")
	}
	return c, nil
}

func readCable(words []string) (Link, error) {
	if len(words) < 2 || len(words) > 3 {
		return Link{}, fmt.Errorf("%d words: write SWITCH/PORT SWITCH/PORT [NAME] or SWITCH/PORT server [NAME]", len(words))
	}
	a, err := readPort(words[0])
	if err != nil {
		return Link{}, err
	}
	l := Link{class: Fabric, ends: [2]port{a}}
	if words[1] == "server" {
		l.class, l.Name = Server, a.String()
	} else if l.ends[1], err = readPort(words[1]); err != nil {
		return Link{}, err
	} else if l.ends[1] == a {
		return Link{}, fmt.Errorf("port %.60s is joined to itself", a)
	} else {
		l.Name = linkName(l)
	}
	if len(words) == 3 {
		l.Name = words[2]
	}
	return l, nil
}

func readPort(s string) (port, error) {
	i := strings.LastIndexByte(s, '/')
	if i < 1 {
		return port{}, fmt.Errorf("%.60q: write SWITCH/PORT, such as s1_0/5", s)
	}
	n, err := strconv.Atoi(s[i+1:])
	if err != nil || n < 1 || n > 254 {
		return port{}, fmt.Errorf("%.60q: port %.60q must be 1..254", s, s[i+1:])
	}
	if guid, ok := osmlog.GUID(strings.ToLower(s[:i])); ok {
		return port{guid: guid, port: n}, nil
	}
	return port{isSwitch: s[:i], port: n}, nil
}

// A Class separates links between switches from links to servers.
type Class uint8

// Classes of links. Without a cable map all links are Unclassified.
const (
	Fabric       Class = iota // both ends are switches
	Server                    // one end is a host
	Unclassified              // not in the cable map, or without a map
)

var classNames = [...]string{"leaf-spine", "server", "unclassified"}

func (c Class) String() string { return classNames[c] }

// MarshalText returns the name of the class.
func (c Class) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// A port is a port of a switch, known by GUID, by name, or by both.
type port struct {
	guid     uint64
	isSwitch string
	port     int
}

// String returns switch/port, the switch by name if it has one.
func (p port) String() string {
	if p.isSwitch != "" {
		return fmt.Sprintf("%s/%d", p.isSwitch, p.port)
	}
	return fmt.Sprintf("0x%016x/%d", p.guid, p.port)
}

// A Link is a cable, or one port alone if it is not in the cable map; its second end is then zero.
type Link struct {
	Name  string
	class Class
	ends  [2]port
}

// An event is a change of one end of a link: WentDown, CameUp or Progressed (from INIT to
// ARMED to ACTIVE), which means up, unless CameUp was seen before.
type event struct {
	time  time.Time
	link  int // index in History.Links
	end   uint8
	kind  osmlog.Kind
	vague bool // the clock had been set back: the order is right, the time is not known
}

// A Failure is a time during which a link was down. Where an end is not known,
// Down or Up is the nearest time that is.
type Failure struct {
	Link         int
	Down, Up     time.Time
	Flaps        int  // failures of the log that it stands for; 1 unless merged
	startUnknown bool // the message of the down was lost
	EndUnknown   bool // the message of the up was lost
	Open         bool // still down where the log ends, which is Up
}

// Known reports whether the failure has a duration.
func (f Failure) Known() bool { return !f.startUnknown && !f.EndUnknown && !f.Open }

// Duration returns how long the link was down; it means something if Known.
func (f Failure) Duration() time.Duration { return f.Up.Sub(f.Down) }

// Losses counts the faults of the logs and their treatment.
type Losses struct {
	Cut          int `json:"cut_lines"`           // lines that should tell of a port, but are incomplete
	Duplicate    int `json:"duplicate_events"`    // the same event in two logs
	ClockSteps   int `json:"clock_steps"`         // times the clock was set back
	Vague        int `json:"vague_events"`        // events in a stretch of time that came twice
	Rollovers    int `json:"year_rollovers"`      // turns of the year inside a log
	LostUps      int `json:"lost_ups"`            // two downs in a row
	LostDowns    int `json:"lost_downs"`          // an up without a down
	OneEnd       int `json:"one_end_only"`        // failures that one end of a cable told, and the other did not
	DownAtStart  int `json:"down_at_start"`       // first heard of when they came up
	OpenAtEnd    int `json:"open_at_end"`         // down where the log ends
	Inferred     int `json:"inferred_events"`     // upstream OpenSM: ups, and downs of lost nodes, that no line names
	Unresolved   int `json:"unresolved_notices"`  // upstream OpenSM: a switch said that something changed; what is not known
	Changes      int `json:"unresolved_changes"`  // what these notices stand for, at least: both ends of a cable give notice of one change
	UnknownPorts int `json:"ports_not_in_cables"` // ports that the cable map does not have
}

// A History is the combined content of all logs.
type History struct {
	Links    []Link  // in order of the first end: GUID, name, port
	events   []event // in order of time
	From, To time.Time
	mapped   bool // there was a cable map
	cables   int  // links between switches in the cable map
	Losses   Losses
}

// ParsePeriod reads FROM..TO, each a day or a time of a day. TO is excluded. If FROM is a day, TO
// may be left out: the period is then that day.
func ParsePeriod(s string) (Period, error) {
	from, to, ok := strings.Cut(s, "..")
	a, wholeDay, err := parseMoment(from)
	if err != nil {
		return Period{}, err
	}
	if !ok && wholeDay {
		return Period{a, a.AddDate(0, 0, 1)}, nil
	}
	b, _, err := parseMoment(to)
	if err != nil {
		return Period{}, err
	}
	if !b.After(a) {
		return Period{}, fmt.Errorf("ends at %s, not after it begins; write FROM..TO, TO not included", b.Format(time.DateTime))
	}
	return Period{a, b}, nil
}

func parseMoment(s string) (t time.Time, wholeDay bool, err error) {
	if t, err = time.Parse(time.DateOnly, s); err == nil {
		return t, true, nil
	}
	for _, l := range []string{time.DateTime, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", time.RFC3339} {
		if t, err = time.Parse(l, s); err == nil {
			return t.UTC(), false, nil
		}
	}
	return t, false, fmt.Errorf("%.60q: write a day or a time, 2024-03-08 or 2024-03-08T14:00:00", s)
}
