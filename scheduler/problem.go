package scheduler

import (
	"math"
	"slices"
)

// A Problem is an exchange between hosts over links, and the paths that each of its messages may take. It knows no
// tree and no table: those become candidates of a message (Paths), slow links a share, fast cables room, roles and dead
// cables messages and paths that there are not.
type Problem struct {
	Hosts int // numbered from 0, in the order of ranks
	// Links begin with those by which hosts send, 0..Hosts-1, and those by which they receive, Hosts..2·Hosts-1.
	Links []Link
	// Meets says which ordered pairs of hosts have a message; nil: all different ones.
	Meets func(src, dst int) bool
	Paths Paths
	// Bytes are those of each message, by src·Hosts + dst, where messages differ in size: which paths are chosen, and Least in
	// byte times, follow them. Nil: all are alike.
	Bytes []int64
	// Alike numbers hosts that stand on one switch and have the same paths to every other host, which makes planning
	// faster, and closed forms by switch and port possible; nil: no two are alike.
	Alike []int
	// Owner is the machine of each host where some machines have several, which follow one another; nil: each is its own.
	Owner []int
}

// A Link carries Room messages at once, each at Share of the rate of a message. One of the two is 1.
type Link struct {
	Room  int32
	Share float64
}

// Paths are the candidate paths of messages: of a tree its Lanes, of tables One, of known source ports those Listed.
type Paths interface {
	// Count is how many candidates a message has.
	Count(src, dst int) int
	// Append appends the links of a candidate in their order, without those of the two hosts.
	Append(to []int32, src, dst, path int) []int32
}

// One appends the links of the only path of a message, as tables have one.
type One func(to []int32, src, dst int) []int32

// Count implements Paths.
func (o One) Count(_, _ int) int { return 1 }

// Append implements Paths.
func (o One) Append(to []int32, src, dst, _ int) []int32 { return o(to, src, dst) }

// Listed are the candidates of each message written out, by src·Hosts + dst: a path for each port that is known.
type Listed struct {
	Hosts int
	Of    [][][]int32
}

// Count implements Paths.
func (l Listed) Count(src, dst int) int { return len(l.Of[src*l.Hosts+dst]) }

// Append implements Paths.
func (l Listed) Append(to []int32, src, dst, path int) []int32 {
	return append(to, l.Of[src*l.Hosts+dst][path]...)
}

// Candidates are the candidate paths of all messages written out, for searches; a message is src·Hosts + dst.
type Candidates struct {
	first, begin, links []int32
}

// Lay writes the candidates out.
func (p *Problem) Lay() *Candidates {
	c := &Candidates{first: make([]int32, p.Hosts*p.Hosts+1), begin: []int32{0}}
	next := 0
	p.Each(func(src, dst int) {
		for m := src*p.Hosts + dst; next < m; next++ {
			c.first[next+1] = int32(len(c.begin) - 1)
		}
		for i := range p.Paths.Count(src, dst) {
			c.links = p.Paths.Append(c.links, src, dst, i)
			c.begin = append(c.begin, int32(len(c.links)))
		}
	})
	for ; next < p.Hosts*p.Hosts; next++ {
		c.first[next+1] = int32(len(c.begin) - 1)
	}
	return c
}

// Count is how many candidates of a message a plan may choose of: the first 255, which a byte counts.
func (c *Candidates) Count(message int) int { return min(c.all(message), math.MaxUint8) }

func (c *Candidates) all(message int) int { return int(c.first[message+1] - c.first[message]) }

// Of are the links of a candidate of a message.
func (c *Candidates) Of(message, candidate int) []int32 {
	i := int(c.first[message]) + candidate
	return c.links[c.begin[i]:c.begin[i+1]]
}

// LinkOf is a link by its rate, in messages at once. One that is 5 % short of several messages has room for them all: rates
// in files are rounded.
func LinkOf(rate float64) Link {
	if rate < 1 {
		return Link{1, rate}
	}
	return Link{int32(min(rate+0.05, math.MaxInt16)), 1}
}

// HostLink is the link of a host, which has one message at a time.
func HostLink(rate float64) Link { return Link{1, min(rate, 1)} }

// Rate is how many messages a link carries in a message time.
func (l Link) Rate() float64 { return float64(l.Room) * l.Share }

// Each calls f for all messages, by source and destination.
func (p *Problem) Each(f func(src, dst int)) {
	for src := range p.Hosts {
		for dst := range p.Hosts {
			if src != dst && (p.Meets == nil || p.Meets(src, dst)) {
				f(src, dst)
			}
		}
	}
}

// Size is that of a message, src·Hosts + dst: 1, or its bytes.
func (p *Problem) Size(message int) float64 {
	if p.Bytes == nil {
		return 1
	}
	return float64(p.Bytes[message])
}

// Chosen is the problem with one path for each message, a candidate by src·Hosts + dst.
func (p *Problem) Chosen(path []uint8) *Problem {
	one := *p
	one.Alike = nil // hosts that are alike choose differently
	one.Paths = One(func(to []int32, src, dst int) []int32 {
		return p.Paths.Append(to, src, dst, int(path[src*p.Hosts+dst]))
	})
	return &one
}

// A Plan gives each message of a problem a phase and one of its candidate paths.
type Plan struct {
	Hosts  int
	Phases int
	Made   string  // by which rule: linear-shift, shift-by-port, xor, greedy, ejection, …
	Phase  []int32 // by src·Hosts + dst; None: no message
	Path   []uint8 // likewise: which candidate; nil: the first of each
}

// NewPlan returns a plan without messages.
func NewPlan(hosts int, made string) *Plan {
	return &Plan{Hosts: hosts, Made: made, Phase: slices.Repeat([]int32{None}, hosts*hosts)}
}

// At returns the phase of the message from src to dst, or None.
func (p *Plan) At(src, dst int) int { return int(p.Phase[src*p.Hosts+dst]) }

// ByPhase returns the messages by phase, each as src·Hosts + dst: those of phase k are in[first[k]:first[k+1]], rising.
func (p *Plan) ByPhase() (first, in []int32) {
	first = make([]int32, p.Phases+2)
	for _, k := range p.Phase {
		if k != None {
			first[k+2]++
		}
	}
	for k := 2; k < len(first); k++ {
		first[k] += first[k-1]
	}
	in = make([]int32, first[p.Phases+1])
	for m, k := range p.Phase {
		if k != None {
			in[first[k+1]] = int32(m)
			first[k+1]++
		}
	}
	return first[:p.Phases+1], in
}

// Squeezed leaves out phases without messages.
func (p *Plan) Squeezed() *Plan {
	first, in := p.ByPhase()
	next := int32(0)
	for k := range p.Phases {
		for _, m := range in[first[k]:first[k+1]] {
			p.Phase[m] = next
		}
		if first[k] < first[k+1] {
			next++
		}
	}
	p.Phases = int(next)
	return p
}
