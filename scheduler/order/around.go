package order

import (
	"cmp"
	"fmt"
	"slices"

	"evbench/scheduler"
	"evbench/topology"
)

// A Detour is what a plan does with slow links: those that it may use, and those that it takes for dead.
type Detour struct {
	Uses, Avoids []topology.SlowLink
	Time, Other  float64 // of the plan, and of the one that uses all slow links; 0: not known
}

// Around builds several plans and returns the fastest: with all slow links in use, and without the
// links up to one of their shares, for each share. build returns a plan and its time; a
// plan whose time is 0, not known, is returned at once. If none is built, Around returns the first
// error of build. O(distinct shares) plans.
func Around[P any](t *topology.Tree, slow []topology.SlowLink, build func(*topology.Tree) (P, float64, error)) (best P, about *Detour, err error) {
	shares := []float64{0}
	for _, x := range slow {
		shares = append(shares, x.Share)
	}
	slices.Sort(shares)
	all := 0.0
	for _, most := range slices.Compact(shares) {
		d := &Detour{}
		var avoid []topology.Link
		for _, x := range slow {
			if x.Share <= most {
				d.Avoids, avoid = append(d.Avoids, x), append(avoid, x.Link)
			}
		}
		without, failed := t.Without(avoid...)
		if failed != nil {
			return best, about, fmt.Errorf("slow links: %w", failed)
		}
		p, time, failed := build(without)
		if failed != nil {
			err = cmp.Or(err, failed)
			continue
		}
		if len(avoid) == 0 {
			all = time
		}
		d.Time, d.Other = time, all
		for _, x := range slow {
			if without.LinkAlive(x.Link) {
				d.Uses = append(d.Uses, x)
			}
		}
		if about == nil || time == 0 || time < about.Time*(1-round) {
			best, about = p, d
		}
		if time == 0 {
			break
		}
	}
	if about != nil {
		err = nil
	}
	return best, about, err
}

// Over returns which of some slow links have a message of a schedule. O(messages).
func Over(s *scheduler.Schedule, t topology.Wires, slow []topology.SlowLink) (used []topology.SlowLink) {
	if len(slow) == 0 {
		return nil
	}
	has, leaf := map[topology.Link]bool{}, t.LeafOfRanks()
	for m := range s.All() {
		if m.Spine != None {
			for _, l := range t.PathLinks(leaf[m.Src], leaf[m.Dst], t.PathOf(m.Spine, s.Top(m.Src, m.Dst))) {
				has[l] = true
			}
		}
	}
	for _, x := range slow {
		if has[x.Link] {
			used = append(used, x)
		}
	}
	return used
}
