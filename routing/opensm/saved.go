package opensm

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"evbench/routing/lft"
	"evbench/topology/network"
)

// Saved are the tables of shortest ways, kept over a restart with what is needed
// to see whether they still hold (memo, §7). Switches and ports are known by
// GUID, as numbers of nodes may change.
type Saved struct {
	switches []savedSwitch
	lids     map[uint64]uint16 // by port GUID
	hops     *hops             // by place in switches
}

type savedSwitch struct {
	GUID  uint64      `json:"guid"`
	Ports []savedPort `json:"ports"` // from port 1
}

// A savedPort is what a port leads to; the zero value is nothing.
type savedPort struct {
	GUID   uint64 `json:"guid,omitempty"` // of the node
	Port   uint8  `json:"port,omitempty"`
	Switch bool   `json:"switch,omitempty"`
}

// Save computes the tables of a network.
func Save(n *network.Network) *Saved {
	s := &Saved{lids: map[uint64]uint16{}, hops: newView(n).shortest()}
	for v := range network.Node(n.Nodes()) {
		s.lids[n.Info(v).Port] = n.Info(v).LID
		if !n.IsHost(v) {
			s.switches = append(s.switches, describe(n, v))
		}
	}
	return s
}

func describe(n *network.Network, v network.Node) savedSwitch {
	d := savedSwitch{GUID: n.Info(v).GUID, Ports: make([]savedPort, len(n.Ends(v)))}
	for p, e := range n.Ends(v) {
		if e.Node != network.NoNode {
			d.Ports[p] = savedPort{n.Info(e.Node).GUID, e.Port, !n.IsHost(e.Node)}
		}
	}
	return d
}

// Effect is what changes of a network since tables were saved do to them: the
// memo's table 1, summed up over all changes.
type Effect struct {
	Hops   bool          // the saved tables of shortest ways no longer hold
	Routes bool          // no forwarding entry computed from them holds
	Roots  bool          // the roots found with them may be others
	Ports  []network.End // entries of these switches by these ports do not hold
	LIDs   []uint16      // entries to these LIDs, as they are now, do not hold
}

// Check compares a network with the one that tables were saved from, cable by
// cable: O(ports).
//
// A new or a missing switch makes all obsolete. A missing cable between two
// switches makes the entries through its ports obsolete, and the tables of
// shortest ways when it was the last one between them. A changed LID makes the
// entries to it obsolete. New cables, cables to hosts and hosts themselves
// change nothing, though new cables are not used until all is computed anew.
func (s *Saved) Check(n *network.Network) Effect {
	var e Effect
	now := map[uint64]network.Node{}
	for i := range n.Switches() {
		now[n.Info(n.Switch(i)).GUID] = n.Switch(i)
	}
	known := map[uint64]bool{}
	for _, old := range s.switches {
		known[old.GUID] = true
		v, ok := now[old.GUID]
		if !ok {
			e.Hops, e.Routes, e.Roots = true, true, true
			continue
		}
		e.compare(n, v, old)
	}
	for v := range network.Node(n.Nodes()) {
		i := n.Info(v)
		if !n.IsHost(v) && !known[i.GUID] {
			e.Hops, e.Routes, e.Roots = true, true, true
		}
		if lid, ok := s.lids[i.Port]; ok && lid != i.LID {
			e.LIDs = append(e.LIDs, i.LID)
		}
	}
	slices.Sort(e.LIDs)
	return e
}

// compare looks for cables of a switch that are missing.
func (e *Effect) compare(n *network.Network, v network.Node, old savedSwitch) {
	now := describe(n, v)
	for p, was := range old.Ports {
		if !was.Switch || p < len(now.Ports) && now.Ports[p] == was {
			continue
		}
		e.Ports = append(e.Ports, network.End{Node: v, Port: uint8(p + 1)})
		if !slices.ContainsFunc(now.Ports, func(q savedPort) bool { return q.Switch && q.GUID == was.GUID }) {
			e.Hops = true
		}
	}
}

// MinHop is MinHop without searching for shortest ways. It returns nil where
// the saved tables do not hold.
func (s *Saved) MinHop(n *network.Network) *lft.Tables {
	if s.Check(n).Hops {
		return nil
	}
	v := newView(n)
	h, place := v.newHops(), make([]int32, len(v.seen))
	byGUID := map[uint64]int32{}
	for i, d := range s.switches {
		byGUID[d.GUID] = int32(i)
	}
	for i := range place {
		place[i] = byGUID[v.guid(int32(i))]
	}
	v.rows(func(a int32) {
		alive := make([]uint64, h.words)
		for p, q := range v.peers(a) {
			if q != none {
				alive[p/64] |= 1 << (p % 64)
			}
		}
		for b := range place {
			set, from := h.set(a, int32(b)), s.hops.set(place[a], place[b])
			for w := range min(len(set), len(from)) {
				set[w] = from[w] & alive[w]
			}
		}
	})
	return v.fill("minhop", h)
}

// savedText is the form of Saved in JSON.
type savedText struct {
	Switches []savedSwitch     `json:"switches"`
	LIDs     map[uint64]uint16 `json:"lids"`
	Words    int               `json:"words"`
	Sets     []byte            `json:"sets"` // words of 8 bytes, low byte first
}

// Write writes the tables as JSON.
func (s *Saved) Write(w io.Writer) error {
	t := savedText{s.switches, s.lids, s.hops.words, make([]byte, 0, 8*len(s.hops.sets))}
	for _, set := range s.hops.sets {
		t.Sets = binary.LittleEndian.AppendUint64(t.Sets, set)
	}
	return json.NewEncoder(w).Encode(t)
}

// ReadSaved reads what Write has written.
func ReadSaved(r io.Reader) (*Saved, error) {
	var t savedText
	if err := json.NewDecoder(r).Decode(&t); err != nil {
		return nil, fmt.Errorf("saved hop tables: %w", err)
	}
	n := len(t.Switches)
	if t.Words < 1 || t.Words > 4 || len(t.Sets) != 8*t.Words*n*n {
		return nil, fmt.Errorf("saved hop tables: %d bytes for %d switches and %d words a set", len(t.Sets), n, t.Words)
	}
	s := &Saved{t.Switches, t.LIDs, &hops{n, t.Words, make([]uint64, t.Words*n*n)}}
	seen := map[uint64]bool{}
	for _, d := range t.Switches {
		if seen[d.GUID] || len(d.Ports) > 64*t.Words {
			return nil, fmt.Errorf("saved hop tables: switch %#x twice, or with %d ports", d.GUID, len(d.Ports))
		}
		seen[d.GUID] = true
	}
	for i := range s.hops.sets {
		s.hops.sets[i] = binary.LittleEndian.Uint64(t.Sets[8*i:])
	}
	return s, nil
}
