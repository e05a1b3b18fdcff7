package network

import (
	"fmt"
	"strconv"
	"strings"

	"evbench/internal/show"
)

// Gaps tells in words which cables of the tree the network lacks and, since their ports are not
// known, which ports of the switches are free; "" where none is missing. In a network of a notation
// each cable has its ports, so nothing is unknown.
func (p *Places) Gaps() string {
	var gaps []string
	for id := 0; p.net.Notation == "" && id < len(p.cables); id += p.beside(id) {
		present, dead := p.distinct(id), 0
		for i, own := range p.cables[id : id+p.beside(id)] {
			if len(own) == 0 && !p.Tree.Absent(p.Tree.LinkOf(id+i)) {
				dead++
			}
		}
		if dead == 0 {
			continue
		}
		all := len(present) + (dead+p.usual-1)/p.usual
		low, high := p.Tree.Ends(p.Tree.LinkOf(id))
		gaps = append(gaps, fmt.Sprintf("%s and %s have %d of %s (free: %s; %s)", p.Tree.SwitchName(low.Switch), p.Tree.SwitchName(high.Switch),
			len(present), show.Plural(all, "cable", "cables"), p.free(low.Switch), p.free(high.Switch)))
	}
	if gaps == nil {
		return ""
	}
	return "missing cables are taken for dead links, and which ports they had is not known: " + show.Few(gaps)
}

// beside returns how many links join the switches that a link joins.
func (p *Places) beside(id int) int {
	if id < p.Tree.LowerLinks() {
		return p.Tree.Cables()
	}
	return 1
}

// free lists the ports of a switch without a cable, "lf0/15,17-20".
func (p *Places) free(sw int) string {
	var ports []string
	ends, first := p.net.Ends(p.nodes[sw]), 0
	for i := range ends {
		if ends[i].Node != NoNode {
			first = i + 1
		} else if last := i+1 == len(ends) || ends[i+1].Node != NoNode; last && first < i {
			ports = append(ports, fmt.Sprintf("%d-%d", first+1, i+1))
		} else if last {
			ports = append(ports, strconv.Itoa(i+1))
		}
	}
	if ports == nil {
		return "no known port of " + p.Tree.SwitchName(sw)
	}
	return p.Tree.SwitchName(sw) + "/" + strings.Join(ports, ",")
}
