package credit

import (
	"evbench/internal/splitmix"
	"evbench/site/network"
)

// NewWires returns the links of a network, all of one speed and length.
func NewWires(n *network.Network, flit, wire Time) *Wires {
	w := &Wires{Hosts: n.Hosts()}
	for v := range network.Node(n.Nodes()) {
		w.First = append(w.First, int32(len(w.To)))
		for _, far := range n.Ends(v) {
			w.From = append(w.From, int32(v))
			w.To = append(w.To, int32(far.Node))
		}
	}
	w.First = append(w.First, int32(len(w.To)))
	w.Back = make([]int32, len(w.To))
	w.Flit, w.Wire = make([]Time, len(w.To)), make([]Time, len(w.To))
	for v := range network.Node(n.Nodes()) {
		for i, far := range n.Ends(v) {
			l := w.First[v] + int32(i)
			w.Flit[l], w.Wire[l], w.Back[l] = flit, wire, -1
			if far.Node != network.NoNode {
				w.Back[l] = w.Link(far.Node, int(far.Port))
			}
		}
	}
	return w
}

// A Pattern returns the destination of the i-th message of a host. r belongs to the host.
type Pattern func(host int32, i int64, r *splitmix.Random) int32

// Others draws any host but the sender.
func Others(hosts int) Pattern {
	return func(h int32, _ int64, r *splitmix.Random) int32 {
		return int32((int(h) + 1 + r.Below(hosts-1)) % hosts)
	}
}

// Shift sends to the host with a number higher by by, modulo hosts.
func Shift(hosts, by int) Pattern {
	return func(h int32, _ int64, _ *splitmix.Random) int32 { return int32((int(h) + by) % hosts) }
}

// ShiftSequence sends to all others in turn.
func ShiftSequence(hosts int) Pattern {
	return func(h int32, i int64, _ *splitmix.Random) int32 {
		return int32((int64(h) + 1 + i%int64(hosts-1)) % int64(hosts))
	}
}

// A Traffic is Count messages of each host, 0 without end, all of one length.
type Traffic struct {
	Pattern Pattern
	Flits   int64
	Count   int64

	made []int64
	rand []splitmix.Random
}

func (t *Traffic) Start(hosts int, seed uint64) {
	t.made, t.rand = make([]int64, hosts), make([]splitmix.Random, hosts)
	for h := range t.rand {
		t.rand[h] = splitmix.Random(splitmix.Mix(seed<<20 ^ uint64(h+1)))
	}
}

func (t *Traffic) Next(h int32, now Time) (Message, bool) {
	i := t.made[h]
	if t.Count > 0 && i == t.Count {
		return Message{}, false
	}
	t.made[h]++
	return Message{Dst: t.Pattern(h, i, &t.rand[h]), Flits: t.Flits, Start: now}, true
}
