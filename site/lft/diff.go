package lft

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"

	"evbench/internal/answer"
	"evbench/internal/show"
	"evbench/site/network"
)

// A Difference is the changes in the switches from one set of tables to another.
type Difference struct {
	Old      string `json:"old"` // engines
	New      string `json:"new"`
	Switches int    `json:"switches"`
	Entries  int64  `json:"entries"` // of all LIDs and switches
	changes
	Changed []SwitchChange `json:"changed"` // switches, in their order
}

type changes struct {
	Hosts    int `json:"host_entries"`            // changed, of LIDs of hosts
	ToSwitch int `json:"switch_entries"`          // changed, of LIDs of switches
	ToOther  int `json:"other_entries,omitempty"` // changed, of LIDs of aggregation nodes, routers and the like
	Gained   int `json:"gained"`                  // of those changed: had no port
	Lost     int `json:"lost"`                    // of those changed: have no port any more
}

// Total returns all changed entries.
func (c changes) Total() int { return c.Hosts + c.ToSwitch + c.ToOther }

// A SwitchChange is what changes in one switch.
type SwitchChange struct {
	Name string `json:"name"`
	GUID string `json:"guid"`
	changes
	Moves []Move `json:"moves"` // by old and then new port
}

// A Move is how many entries go from one port to another; NoPort is none.
type Move struct {
	From  uint8 `json:"from"`
	To    uint8 `json:"to"`
	Count int   `json:"count"`
}

// Diff compares tables of networks with the same nodes and LIDs; their cables may
// differ. O(S · LIDs).
func Diff(old, new *Tables) (*Difference, error) {
	if err := sameNodes(old.Net, new.Net); err != nil {
		return nil, err
	}
	d := &Difference{Old: old.Engine, New: new.Engine, Switches: old.Net.Switches(), Changed: []SwitchChange{}}
	owner := owners(old.Net)
	for lid := range owner {
		if owner[lid] != network.NoNode {
			d.Entries += int64(d.Switches)
		}
	}
	for i := range d.Switches {
		info := old.Net.Info(old.Net.Switch(i))
		c := SwitchChange{Name: old.Net.Name(old.Net.Switch(i)), GUID: fmt.Sprintf("0x%016x", info.GUID)}
		c.compare(old.Row(i), new.Row(i), owner, old.Net)
		if c.Total() == 0 {
			continue
		}
		d.Changed = append(d.Changed, c)
		d.Hosts += c.Hosts
		d.ToSwitch += c.ToSwitch
		d.ToOther += c.ToOther
		d.Gained += c.Gained
		d.Lost += c.Lost
	}
	return d, nil
}

func sameNodes(a, b *network.Network) error {
	if a.Hosts() != b.Hosts() || a.Nodes() != b.Nodes() {
		return fmt.Errorf("tables of %d hosts and %d switches, and of %d and %d", a.Hosts(), a.Switches(), b.Hosts(), b.Switches())
	}
	if a.Others() != b.Others() {
		return fmt.Errorf("tables of networks with %d and with %d aggregation nodes, routers and the like", a.Others(), b.Others())
	}
	for v := range network.Node(a.Nodes() + a.Others()) {
		if x, y := a.Info(v), b.Info(v); x.GUID != y.GUID || x.LID != y.LID || x.LMC != y.LMC {
			return fmt.Errorf("%s with GUID 0x%016x and LID %d in one network is %s with 0x%016x and %d in the other", x.Name, x.GUID, x.LID, y.Name, y.GUID, y.LID)
		}
	}
	return nil
}

func (c *SwitchChange) compare(old, new []uint8, owner []network.Node, n *network.Network) {
	moves := map[[2]uint8]int{}
	for lid, v := range owner {
		from, to := old[lid], new[lid]
		if from == to || v == network.NoNode {
			continue
		}
		moves[[2]uint8{from, to}]++
		switch {
		case n.IsHost(v):
			c.Hosts++
		case n.IsOther(v):
			c.ToOther++
		default:
			c.ToSwitch++
		}
		if from == NoPort {
			c.Gained++
		}
		if to == NoPort {
			c.Lost++
		}
	}
	for k, count := range moves {
		c.Moves = append(c.Moves, Move{k[0], k[1], count})
	}
	slices.SortFunc(c.Moves, func(a, b Move) int { return cmp.Or(int(a.From)-int(b.From), int(a.To)-int(b.To)) })
}

// Answer says how much differs.
func (d *Difference) Answer() answer.Answer {
	text := fmt.Sprintf("%d of %d entries differ, on %s", d.Total(), d.Entries, show.Plural(len(d.Changed), "switch", "switches"))
	e := answer.Evidence{Findings: []answer.Finding{{Text: text}}}
	if d.Total() > 0 {
		e.Why = []string{fmt.Sprintf("%d lead to hosts, %d to switches%s", d.Hosts, d.ToSwitch, d.others())}
	}
	if d.Gained+d.Lost > 0 {
		e.Why = append(e.Why, fmt.Sprintf("%d had no port, %d have none any more", d.Gained, d.Lost))
	}
	return answer.Decide(answer.Changes, e)
}

// WriteText writes a line a switch for people.
func (d *Difference) WriteText(w io.Writer) error {
	out := bufio.NewWriter(w)
	for _, c := range d.Changed {
		fmt.Fprintf(out, "%s: %d of hosts, %d of switches%s:", c.Name, c.Hosts, c.ToSwitch, c.others())
		for i, m := range c.Moves {
			if i > 0 {
				fmt.Fprint(out, ",")
			}
			fmt.Fprintf(out, " %s→%s ×%d", portName(m.From), portName(m.To), m.Count)
		}
		fmt.Fprintln(out)
	}
	return out.Flush()
}

func (c changes) others() string {
	if c.ToOther == 0 {
		return ""
	}
	return fmt.Sprintf(", %d of other nodes", c.ToOther)
}

func portName(p uint8) string {
	if p == NoPort {
		return "-"
	}
	return fmt.Sprint(p)
}
