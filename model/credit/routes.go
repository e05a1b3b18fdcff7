package credit

import (
	"math"
	"slices"

	"evbench/internal/splitmix"
)

// A Choice is how a switch chooses between the links that lead to a destination, once for each
// packet and switch.
type Choice uint8

const (
	// First takes the first link: tables.
	First Choice = iota
	// Random draws one for each packet: spraying.
	Random
	// Turns takes them in turn.
	Turns
	// Hash draws one for each source and destination: ECMP.
	Hash
	// BetterOfTwo draws two, perhaps the same one, and takes the one with less of its credit in
	// use; the first drawn if they are equal.
	BetterOfTwo
	// Best takes the one with the least credit in use, drawn among equals.
	Best
	// Relief takes the link of the tables, which the message names (Via), while at most half of its
	// credit is in use, and otherwise as Best: a subnet manager's adaptive groups.
	Relief
	// QueueRelief is Relief that also avoids a link for which another input of its switch waits.
	// Only FIFO knows these.
	QueueRelief
)

// Choices lists the names, in the order of the constants.
func Choices() []string {
	return []string{"tables", "spray", "turns", "ecmp", "better-of-two", "adaptive", "relief", "queue-relief"}
}

// Tables reports whether a choice begins with the tables.
func (c Choice) Tables() bool { return c == First || c >= Relief }

func (c Choice) String() string { return Choices()[c] }

// Routes hold the links by which a switch may send a packet, and how the switch chooses.
type Routes struct {
	Choice Choice
	// Lane is the lane of each pair's packets, by source · hosts + destination; nil: any
	// lane that is free at each hop.
	Lane []uint8

	hosts int
	set   []int32 // of switch · hosts + destination: a number in sets, 0 for none
	sets  [][]int32
	known map[string]int32
}

// NewRoutes returns empty routes.
func NewRoutes(w *Wires) *Routes {
	return &Routes{
		hosts: w.Hosts, set: make([]int32, w.switches()*w.Hosts),
		sets: make([][]int32, 1), known: map[string]int32{},
	}
}

// Set sets the links by which a switch, counted from 0, reaches a host.
func (r *Routes) Set(sw, dst int, links ...int32) {
	key := make([]byte, 0, 4*len(links))
	for _, l := range links {
		key = append(key, byte(l), byte(l>>8), byte(l>>16), byte(l>>24))
	}
	n, ok := r.known[string(key)]
	if !ok {
		n = int32(len(r.sets))
		r.sets = append(r.sets, slices.Clone(links))
		r.known[string(key)] = n
	}
	r.set[sw*r.hosts+dst] = n
}

func (r *Routes) links(sw, dst int32) []int32 { return r.sets[r.set[int(sw)*r.hosts+int(dst)]] }

func (e *Engine) route(node int32, p *packet) int32 {
	if int(node) < e.w.Hosts {
		return e.w.First[node]
	}
	links := e.r.links(node-int32(e.w.Hosts), p.dst)
	for _, via := range p.via {
		if via > 0 && len(links) > 0 && e.w.From[via-1] == node && e.open(via-1) {
			return via - 1
		}
	}
	switch len(links) {
	case 0:
		return -1
	case 1:
		return links[0]
	}
	switch e.r.Choice {
	case Random:
		return links[e.rand.Below(len(links))]
	case Turns:
		t := &e.turn[node-int32(e.w.Hosts)]
		*t++
		return links[int(*t)%len(links)]
	case Hash:
		return links[splitmix.Mix(uint64(p.src)<<40^uint64(p.dst)<<16^uint64(node)^e.seed)%uint64(len(links))]
	case BetterOfTwo:
		a, b := links[e.rand.Below(len(links))], links[e.rand.Below(len(links))]
		if e.used(b) < e.used(a) {
			return b
		}
		return a
	case Best, Relief, QueueRelief:
		return e.best(links)
	}
	return links[0]
}

// open reports whether a packet may follow the tables to a link. With Relief and QueueRelief it may
// not if the link is congested.
func (e *Engine) open(l int32) bool {
	switch {
	case e.r.Choice < Relief:
		return true
	case e.r.Choice == QueueRelief && len(e.ln[l].waiting) > 0:
		return false
	}
	return 2*e.used(l) <= int64(e.p.Lanes*e.p.Buffer)
}

func (e *Engine) best(links []int32) int32 {
	best, least, equal := int32(-1), int64(math.MaxInt64), 0
	for _, l := range links {
		switch u := e.used(l); {
		case u < least:
			best, least, equal = l, u, 1
		case u == least:
			if equal++; e.rand.Below(equal) == 0 {
				best = l
			}
		}
	}
	return best
}

// used returns the credit in use on a link, in flits of all lanes.
func (e *Engine) used(l int32) (n int64) {
	for v := range e.p.Lanes {
		n += e.sw.used(e, l*int32(e.p.Lanes)+int32(v))
	}
	return n
}
