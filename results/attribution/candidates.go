package attribution

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"evbench/internal/lists"
)

// A candidate is a set of pairs with one thing in common.
type candidate struct {
	kind  Kind
	part  string    // its name
	one   string    // of a server: "sends", "receives"
	cable string    // of a server: what its cable is called, "its cable to leaf1"; of a direction: its cable
	ends  [2]string // of a cable or a direction
	pairs []int     // rising
}

// beside reports whether two cables meet at a switch.
func (c candidate) beside(o candidate) bool {
	return c.ends[0] != "" && (c.ends[0] == o.ends[0] || c.ends[0] == o.ends[1] || c.ends[1] == o.ends[0] || c.ends[1] == o.ends[1])
}

// at reports whether a port is one of the cable of a candidate.
func (c candidate) at(port [3]string) bool {
	if c.kind == OfServer {
		return port[0] == c.part || port[1] == c.part
	}
	ends := [2]string(port[:2])
	return (port[2] == "" || port[2] == c.cable) && (ends == c.ends || ends == [2]string{c.ends[1], c.ends[0]})
}

// both says whether the candidate is a thing with both of its directions.
func (c candidate) both() bool { return c.kind != OfDirection && c.one == "" }

// A label tells candidates apart.
type label struct {
	kind             Kind
	part, one, cable string
}

func (l label) compare(o label) int {
	return cmp.Or(cmp.Compare(l.kind, o.kind), cmp.Compare(l.part, o.part), cmp.Compare(l.one, o.one), cmp.Compare(l.cable, o.cable))
}

// A builder collects candidates.
type builder struct {
	all map[label]*candidate
}

func (b *builder) add(pair int, c candidate) {
	at := b.all[label{c.kind, c.part, c.one, c.cable}]
	if at == nil {
		at = &c
		b.all[label{c.kind, c.part, c.one, c.cable}] = at
	}
	if n := len(at.pairs); n == 0 || at.pairs[n-1] != pair {
		at.pairs = append(at.pairs, pair)
	}
}

// candidates are the sets of pairs that may explain something, and which pairs have a way that is known between
// switches, too.
func candidates(e Evidence) (all []candidate, known []bool) {
	b := builder{map[label]*candidate{}}
	servers := map[string]bool{}
	for _, n := range e.Names {
		servers[n] = true
	}
	known = make([]bool, len(e.Pairs))
	for i, p := range e.Pairs {
		var way []Wire
		switch {
		case p.Way != nil:
			way, known[i] = p.Way, true
		case e.Ways != nil:
			way, known[i] = e.Ways.Way(p.Src, p.Dst)
		}
		from, to, both := "its cable", "its cable", false
		for _, w := range way {
			switch {
			case w.From == e.Names[p.Src]:
				from = "its cable to " + w.To
			case w.To == e.Names[p.Dst]:
				to = "its cable to " + w.From
			case servers[w.From], servers[w.To]: // of the way back
				both = true
			default:
				b.add(i, candidate{kind: OfDirection, part: cmp.Or(w.Name, w.From+" to "+w.To), cable: w.Cable, ends: [2]string{w.From, w.To}})
				b.add(i, candidate{kind: OfCable, part: w.Cable, cable: w.Cable, ends: [2]string{w.From, w.To}})
			}
			for _, end := range []string{w.From, w.To} {
				if !servers[end] {
					b.add(i, candidate{kind: OfSwitch, part: end})
				}
			}
		}
		for _, c := range []candidate{{part: e.Names[p.Src], cable: from}, {part: e.Names[p.Dst], cable: to}} {
			c.kind = OfServer
			b.add(i, c)
		}
		if !both {
			b.add(i, candidate{kind: OfServer, part: e.Names[p.Src], one: "sends", cable: from})
			b.add(i, candidate{kind: OfServer, part: e.Names[p.Dst], one: "receives", cable: to})
		}
	}
	keys := slices.SortedFunc(maps.Keys(b.all), label.compare)
	return lists.Map(keys, func(key label) candidate { return *b.all[key] }), known
}

// name joins candidates that the evidence cannot tell apart, the smallest first; false where they are too many
// for an answer. sign says which part of a server it is, or that the ports of a cable count errors, "" where nothing does.
func name(of []candidate, sign string) (Cause, bool) {
	of = nested(of)
	slices.SortStableFunc(of, func(a, b candidate) int { return cmp.Compare(len(a.pairs), len(b.pairs)) })
	const mostNamed = 2
	if len(of) > mostNamed {
		return Cause{}, false
	}
	c := Cause{Kind: of[0].kind, One: of[0].one}
	for i, x := range of {
		if i > 0 {
			c.Name += " or "
		}
		switch {
		case x.kind == OfServer && sign != "":
			c.Name += x.part + sign
		case x.kind == OfServer:
			c.Name += fmt.Sprintf("%s or %s", x.part, x.cable)
		default:
			c.Name += x.part
			if x.kind != OfSwitch {
				c.Name += sign
			}
		}
		c.Parts = append(c.Parts, x.part)
	}
	return c, true
}

// nested keeps of candidates of one thing that which stands for all: of a server and a direction of it the server,
// of a cable and a direction of it the cable, of two directions of one cable the cable.
func nested(of []candidate) (out []candidate) {
	key := func(c candidate) string {
		if c.kind == OfServer {
			return "server " + c.part
		}
		return "cable " + c.cable
	}
	for _, c := range of {
		if c.kind == OfSwitch {
			out = append(out, c)
			continue
		}
		same := lists.Filter(of, func(o candidate) bool { return o.kind != OfSwitch && key(o) == key(c) })
		whole := slices.IndexFunc(same, candidate.both)
		switch {
		case len(same) == 1:
		case whole >= 0:
			c = same[whole]
		default:
			if c.one = ""; c.kind == OfDirection {
				c.kind, c.part = OfCable, c.cable
			}
		}
		if !slices.ContainsFunc(out, func(o candidate) bool { return o.kind == c.kind && o.part == c.part && o.one == c.one }) {
			out = append(out, c)
		}
	}
	return out
}
