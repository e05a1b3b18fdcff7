package netfile

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"evbench/internal/atomicfile"
	"evbench/internal/show"
)

// Rails returns the names of files in a list of networks, FILE,FILE: all are there. nil: it is none.
func Rails(src string) []string {
	names := strings.Split(src, ",")
	if len(names) < 2 || slices.ContainsFunc(names, func(name string) bool { _, missing := os.Stat(name); return missing != nil }) {
		return nil
	}
	return names
}

// readRails reads several files of ibnetdiscover as one network: those of rails, which a subnet manager each looks after.
// An adapter with a port on two of them is one. Subnets have the same LIDs, so those of later files are moved above the
// LIDs before.
func readRails(names []string) (*Source, error) {
	var all *reader
	for _, name := range names {
		p, err := readRail(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if all == nil {
			all = p
		} else if err := all.join(p); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	n, err := all.network()
	if err != nil {
		return nil, fmt.Errorf("%s together: %w", show.And(names), err)
	}
	n.Files = len(names)
	n.Notes = append(n.Notes, fmt.Sprintf("%d files of subnets are one network here; LIDs after those of %s are numbered anew", len(names), names[0]))
	return &Source{Form: IB, Whole: n, Net: n}, nil
}

func readRail(name string) (*reader, error) {
	f, err := atomicfile.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readIB(atomicfile.Bound(atomicfile.Text(f), maxFile))
}

// join adds the nodes of another text, with LIDs above those that there are.
func (p *reader) join(other *reader) error {
	above := 0
	for _, n := range p.nodes {
		above = max(above, n.lid+1<<n.lmc-1)
		for _, l := range n.links {
			above = max(above, l.lid+1<<l.lmc-1)
		}
	}
	move := func(lid *int) {
		if *lid > 0 {
			*lid += above
		}
	}
	for _, n := range other.nodes {
		move(&n.lid)
		for i := range n.links {
			move(&n.links[i].lid)
			move(&n.links[i].peerLID)
		}
		same, known := p.byID[n.id]
		switch {
		case !known:
			p.byID[n.id] = n
			p.nodes = append(p.nodes, n)
		case n.kind != adapter:
			return fmt.Errorf("%s stands in an earlier file, too: a switch is in one subnet", brief(n.name))
		default:
			same.links = append(same.links, n.links...)
		}
	}
	p.warnings = append(p.warnings, other.warnings...)
	p.left = append(p.left, other.left...)
	return nil
}
