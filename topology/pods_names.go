package topology

import (
	"fmt"
	"math/rand/v2"
	"regexp"
)

var (
	topLinkRE  = regexp.MustCompile(`^pod(\d+)-spine(\d+)-top(\d+)$`)
	podSpineRE = regexp.MustCompile(`^pod(\d+)-spine(\d+)$`)
	topRE      = regexp.MustCompile(`^spine(\d+)-top(\d+)$`)
)

// Notation returns FT(3;M0,M1,M2), or PGFT(3;m;w;p) where the planes are not M0
// or the top switches of a plane not M1.
func (p *Pods) Notation() string {
	m0, m1, m2 := p.lower.ports, p.lower.leaves/p.pods, p.pods
	if p.lower.spines == m0 && p.tops == m1 {
		return fmt.Sprintf("FT(3;%d,%d,%d)", m0, m1, m2)
	}
	return fmt.Sprintf("PGFT(3;%d,%d,%d;1,%d,%d;1,1,1)", m0, m1, m2, p.lower.spines, p.tops)
}

// Links returns the links that a name stands for:
//
//   - leaf5-spine2, the cable from leaf 5 to its pod's switch in plane 2;
//   - pod1-spine2-top3, that from this switch of pod 1 to top switch 3;
//   - pod1-spine2, a middle switch: all its cables, down and up;
//   - spine2-top3, a top switch: its cables to every pod;
//   - spine2, a plane: the cables of all its middle switches.
func (p *Pods) Links(name string) ([]Link, []TopLink, error) {
	if m := topLinkRE.FindStringSubmatch(name); m != nil {
		return p.named(name, "link", span{atoi(m[1]), 1}, atoi(m[2]), span{atoi(m[3]), 1}, false)
	}
	if m := podSpineRE.FindStringSubmatch(name); m != nil {
		return p.named(name, "middle switch", span{atoi(m[1]), 1}, atoi(m[2]), span{0, p.tops}, true)
	}
	if m := topRE.FindStringSubmatch(name); m != nil {
		return p.named(name, "top switch", span{0, p.pods}, atoi(m[1]), span{atoi(m[2]), 1}, false)
	}
	if m := spineRE.FindStringSubmatch(name); m != nil {
		return p.named(name, "plane", span{0, p.pods}, atoi(m[1]), span{0, p.tops}, true)
	}
	if m := linkRE.FindStringSubmatch(name); m != nil {
		l := Link{Leaf: atoi(m[1]), Spine: atoi(m[2])}
		if p.lower.checkLink(l) != nil {
			return nil, nil, fmt.Errorf("no link %q; %s", name, p.choices())
		}
		return []Link{l}, nil, nil
	}
	return nil, nil, fmt.Errorf("%q is none of a link (leaf5-spine2, pod1-spine2-top3), a switch (pod1-spine2, spine2-top3) and a plane (spine2); %s",
		name, p.choices())
}

// A span is count numbers from first.
type span struct{ first, count int }

// named returns the cables of the switches of some pods in a plane to some top
// switches and, with leaves, those to their leaves.
func (p *Pods) named(name, what string, pods span, plane int, tops span, leaves bool) ([]Link, []TopLink, error) {
	if p.checkTop(TopLink{pods.first, plane, tops.first}) != nil {
		return nil, nil, fmt.Errorf("no %s %q; %s", what, name, p.choices())
	}
	var low []Link
	var top []TopLink
	for q := pods.first; q < pods.first+pods.count; q++ {
		for l := range p.PodLeaves() {
			if leaves {
				low = append(low, Link{Leaf: q*p.PodLeaves() + l, Spine: plane})
			}
		}
		for t := tops.first; t < tops.first+tops.count; t++ {
			top = append(top, TopLink{q, plane, t})
		}
	}
	return low, top, nil
}

// Random returns count links of both levels together, drawn uniformly from the
// live ones by the seed such that every pair of servers still has a path when
// they die too; draws that disconnect a pair are thrown away. It is an error when
// there are fewer live links or when 10,000 draws all disconnect a pair.
func (p *Pods) Random(count int, seed uint64) ([]Link, []TopLink, error) {
	var live []int // a leaf's link by LinkID, then a top link by topID
	low := len(p.lower.dead)
	for id, d := range p.lower.dead {
		if !d {
			live = append(live, id)
		}
	}
	for id, d := range p.dead {
		if !d {
			live = append(live, low+id)
		}
	}
	if count < 0 || count > len(live) {
		return nil, nil, fmt.Errorf("%d random dead links: %s has %d live links between switches", count, p.Notation(), len(live))
	}
	rng := rand.New(rand.NewPCG(seed, 0))
	for range draws {
		rng.Shuffle(len(live), func(i, j int) { live[i], live[j] = live[j], live[i] })
		links, tops := p.split(live[:count])
		v, err := p.Without(links, tops)
		if err != nil {
			return nil, nil, err
		}
		if v.Connected() == nil {
			return links, tops, nil
		}
	}
	return nil, nil, fmt.Errorf("%d random dead links: each of %d draws cuts a pair of leaves of %s apart", count, draws, p.Notation())
}

// split sorts the numbers of Random by level.
func (p *Pods) split(ids []int) (links []Link, tops []TopLink) {
	low := len(p.lower.dead)
	for _, id := range ids {
		if id < low {
			links = append(links, Link{Leaf: id / p.lower.spines, Spine: id % p.lower.spines})
			continue
		}
		tops = append(tops, p.topLink(id-low))
	}
	return links, tops
}

// topLink is the inverse of TopID.
func (p *Pods) topLink(id int) TopLink {
	k := id / p.tops
	return TopLink{k / p.lower.spines, k % p.lower.spines, id % p.tops}
}

// DeadTops returns the dead links between pods and top switches, by pod, spine
// and top.
func (p *Pods) DeadTops() []TopLink {
	out := make([]TopLink, 0, p.nDead)
	for id, d := range p.dead {
		if d {
			out = append(out, p.topLink(id))
		}
	}
	return out
}

// DownNames returns the names of all dead links: first those of leaves, then
// those of top switches.
func (p *Pods) DownNames() []string {
	out := p.lower.DownNames()
	for _, l := range p.DeadTops() {
		out = append(out, l.String())
	}
	return out
}
