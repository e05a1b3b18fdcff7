package lft

import (
	"fmt"
	"strings"

	"evbench/site/network"
)

// A Fault is why a route does not arrive.
type Fault uint8

// The faults.
const (
	NoFault    Fault = iota
	NoEntry          // a switch has no entry for the LID
	DeadPort         // an entry names a port without a cable, or none at all
	Loop             // the route comes back to a switch
	WrongHost        // the route ends at another node
	NoCable          // the source or the destination has no cable
	faultCount = int(NoCable) + 1
)

func (f Fault) String() string {
	return [...]string{"arrives", "no entry", "dead port", "loop", "wrong host", "no cable"}[f]
}

// Route follows the entries from a host to a LID of another and returns the ports
// by which the route leaves its switches, as far as it gets. O(hops), at most S.
func (t *Tables) Route(from network.Node, lid int) ([]network.End, Fault) {
	return t.AppendRoute(nil, from, lid)
}

// AppendRoute is Route, appended to path.
func (t *Tables) AppendRoute(path []network.End, from network.Node, lid int) ([]network.End, Fault) {
	n := t.Net
	at := n.Leaf(from).Node
	if at == network.NoNode {
		return path, NoCable
	}
	for range n.Switches() {
		p := t.Port(at, lid)
		if p == NoPort {
			return path, NoEntry
		}
		path = append(path, network.End{Node: at, Port: p})
		next := n.Behind(at, int(p))
		switch {
		case p == 0:
			return path, WrongHost
		case next == network.NoNode:
			return path, DeadPort
		case n.IsHost(next), n.IsOther(next):
			if !hasLID(n.Info(next), lid) {
				return path, WrongHost
			}
			return path, NoFault
		}
		at = next
	}
	return path, Loop
}

func hasLID(i network.Info, lid int) bool {
	return i.LID > 0 && lid >= int(i.LID) && lid < int(i.LID)+1<<i.LMC
}

// An Offence is a route that does not arrive, or that turns up after down.
type Offence struct {
	Kind string `json:"kind"`
	Src  string `json:"src"`
	Dst  string `json:"dst"`
	LID  int    `json:"lid"`
	Text string `json:"text"` // the route, and what is wrong

	leaf int32
}

// longest is how many ports of a route are printed.
const longest = 12

func (t *Tables) offence(kind string, l leaf, dst network.Node, lid int) Offence {
	src := l.first
	if src == dst {
		src = l.other
	}
	o := Offence{Kind: kind, Src: t.Net.Info(src).Name, Dst: t.Net.Info(dst).Name, LID: lid, leaf: l.sw}
	path, fault := t.Route(src, lid)
	var b strings.Builder
	fmt.Fprintf(&b, "%s to %s, LID %d:", o.Src, o.Dst, lid)
	for i, e := range path {
		if i == longest {
			b.WriteString(" …")
			break
		}
		fmt.Fprintf(&b, " %s", t.Net.EndName(e))
	}
	if at := t.Net.Leaf(src).Node; fault == NoEntry {
		if len(path) > 0 {
			last := path[len(path)-1]
			at = t.Net.At(last.Node, int(last.Port)).Node
		}
		fmt.Fprintf(&b, " %s", t.Net.Name(at))
	}
	fmt.Fprintf(&b, ": %s", kind)
	o.Text = b.String()
	return o
}
