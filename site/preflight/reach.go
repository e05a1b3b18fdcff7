package preflight

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"evbench/internal/lists"
	"evbench/internal/show"
)

type fault struct {
	from, to  int
	addr, why string
}

// unreached summarises the faults: servers reached by none, servers that reach none, then the rest
// by the server that does not reach.
func (s Survey) unreached() []string {
	faults := s.faults()
	if len(faults) == 0 {
		return nil
	}
	var out []string
	for to := range s.Servers {
		text, rest := s.nobodyReaches(to, faults)
		if text != "" {
			out, faults = append(out, text), rest
		}
	}
	for from := range s.Servers {
		text, rest := s.reachesNobody(from, faults)
		if text != "" {
			out, faults = append(out, text), rest
		}
	}
	return append(out, s.single(faults)...)
}

func (s Survey) faults() []fault {
	var out []fault
	for from, row := range s.Reached {
		for to, reached := range row {
			for _, r := range reached {
				if r.Err != "" {
					out = append(out, fault{from, to, r.Addr, r.Err})
				}
			}
		}
	}
	return out
}

// nobodyReaches removes the faults of a server's addresses that none of at least two others
// reaches.
func (s Survey) nobodyReaches(to int, faults []fault) (text string, rest []fault) {
	asked := 0
	for from := range s.Servers {
		if len(s.Reached[from][to]) > 0 {
			asked++
		}
	}
	failed := map[string]int{}
	for _, f := range faults {
		if f.to == to {
			failed[f.addr]++
		}
	}
	var mine []fault
	for _, f := range faults {
		if f.to == to && asked > 1 && failed[f.addr] == asked {
			mine = append(mine, f)
		} else {
			rest = append(rest, f)
		}
	}
	if len(mine) == 0 {
		return "", faults
	}
	return fmt.Sprintf("%s is not reached by any of the %d others that tried, at %s: %s",
		s.name(to), asked, show.Few(addresses(mine)), reasons(mine)), rest
}

// reachesNobody removes the faults of a server that cannot connect to any address of at least two
// others.
func (s Survey) reachesNobody(from int, faults []fault) (text string, rest []fault) {
	var mine []fault
	for _, f := range faults {
		if f.from == from {
			mine = append(mine, f)
		} else {
			rest = append(rest, f)
		}
	}
	peers, tried := 0, 0
	for _, r := range s.Reached[from] {
		if len(r) > 0 {
			peers++
			tried += len(r)
		}
	}
	if peers < 2 || len(mine) < tried {
		return "", faults
	}
	return fmt.Sprintf("%s reaches none of the %d others that it tried: %s", s.name(from), peers, reasons(mine)), rest
}

func (s Survey) single(faults []fault) []string {
	type key struct {
		from int
		why  string
	}
	groups := map[key][]string{}
	for _, f := range faults {
		k := key{f.from, f.why}
		groups[k] = append(groups[k], fmt.Sprintf("%s at %s", s.name(f.to), f.addr))
	}
	keys := slices.SortedFunc(maps.Keys(groups), func(a, b key) int {
		return cmp.Or(cmp.Compare(a.from, b.from), strings.Compare(a.why, b.why))
	})
	return lists.Map(keys, func(k key) string {
		return fmt.Sprintf("%s cannot reach %s: %s", s.name(k.from), show.Few(groups[k]), k.why)
	})
}

func addresses(faults []fault) []string {
	var out []string
	for _, f := range faults {
		if !slices.Contains(out, f.addr) {
			out = append(out, f.addr)
		}
	}
	return out
}

// reasons lists the distinct reasons of faults, the most frequent first.
func reasons(faults []fault) string {
	count := map[string]int{}
	for _, f := range faults {
		count[f.why]++
	}
	all := slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		return cmp.Or(count[b]-count[a], strings.Compare(a, b))
	})
	return strings.Join(all, "; ")
}
