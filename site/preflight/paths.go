package preflight

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"evbench/controller/wire"
)

// Followed selects the pairs of servers, [from][to], for which to ask for the routers on the way:
// one pair for each ordered pair of leaves, spread over the servers of both. The servers of a leaf
// share its routes, and a switch answers only a few such questions in a second.
func Followed(servers []Server) [][]bool {
	on := map[int][]int{}
	out := make([][]bool, len(servers))
	for i, v := range servers {
		on[v.Leaf] = append(on[v.Leaf], i)
		out[i] = make([]bool, len(servers))
	}
	for a, from := range on {
		for b, to := range on {
			if a != b {
				out[from[b%len(from)]][to[a%len(to)]] = true
			}
		}
	}
	return out
}

// A way is a followed path: to the address for a spine.
type way struct {
	from, to, spine int
	half            string // the intended switch half way
	wire.Reach
}

func (s Survey) half(from, to, path int) string {
	if s.Half == nil {
		return fmt.Sprintf("spine%d", path)
	}
	return s.Half(s.Servers[from].Leaf, s.Servers[to].Leaf, path)
}

func (s Survey) kind() string {
	if s.Half == nil {
		return "spine"
	}
	return "path"
}

// ways lists them. If a server does not have exactly one address for each spine, its addresses
// stand for no spine.
func (s Survey) ways() []way {
	var out []way
	for from, row := range Followed(s.Servers) {
		for to, followed := range row {
			if reached := s.Reached[from][to]; followed && len(reached) == 1+s.Spines {
				for k, r := range reached[1:] {
					out = append(out, way{from, to, k, s.half(from, to, k), r})
				}
			}
		}
	}
	return out
}

// paths finds addresses that lead through another switch than their spine. A missing answer is a
// warning and never counts as correct.
func (s Survey) paths(r *Report) {
	ways := s.ways()
	right := 0
	unseen := map[string][]way{}
	for _, w := range ways {
		switch want, why := w.half, s.unseen(w); {
		case why != "":
			unseen[why] = append(unseen[why], w)
		case s.Switches[w.Router] == want:
			right++
		default:
			r.diverted = append(r.diverted, fmt.Sprintf("%s to %s at %s leads through %s (%s), not through %s",
				s.name(w.from), s.name(w.to), w.Addr, s.Switches[w.Router], w.Router, want))
		}
	}
	if right > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%d of %d addresses for a spine were seen to lead through it, from one server of each leaf to one of each other",
			right, len(ways)))
	}
	for _, why := range slices.SortedFunc(maps.Keys(unseen), func(a, b string) int {
		return cmp.Or(len(unseen[b])-len(unseen[a]), strings.Compare(a, b))
	}) {
		w := unseen[why][0]
		r.Warnings = append(r.Warnings, fmt.Sprintf("not checked whether %d of %d addresses for a spine lead through it, such as %s to %s at %s for %s: %s",
			len(unseen[why]), len(ways), s.name(w.from), s.name(w.to), w.Addr, w.half, why))
	}
	r.Warnings = append(r.Warnings, s.shared(ways)...)
}

// nameless is the address used by routers without an address (RFC 7600).
const nameless = "192.0.0.8"

func (s Survey) unseen(w way) string {
	_, known := s.Switches[w.Router]
	switch {
	case w.Hops < 0:
		return "routers on the way cannot be counted"
	case w.Hops == 0:
		return "there is no router on the way"
	case w.Hops%2 == 0 || w.Hops == 1:
		return fmt.Sprintf("there are %d routers on the way, and so no spine half way", w.Hops)
	case w.Router == "":
		return "no answer from the spine"
	case w.Router == nameless:
		return "the spine answers as " + nameless + ", so it has no address of its own"
	case !known:
		return "the spine answers, but by addresses that are not those of routes export"
	}
	return ""
}

// shared finds addresses for different spines that lead through one router, which needs no
// knowledge of the router's name.
func (s Survey) shared(ways []way) []string {
	type key struct {
		from, to int
		router   string
	}
	first := map[key]way{}
	var out []string
	for _, w := range ways {
		if _, known := s.Switches[w.Router]; known || w.Router == "" || w.Router == nameless {
			continue
		}
		k := key{w.from, w.to, w.Router}
		if one, ok := first[k]; ok && one.half != w.half {
			out = append(out, fmt.Sprintf("%s to %s: the addresses for %s and %s, %s and %s, lead through one router, %s",
				s.name(w.from), s.name(w.to), one.half, w.half, one.Addr, w.Addr, w.Router))
		} else if !ok {
			first[k] = w
		}
	}
	return out
}
