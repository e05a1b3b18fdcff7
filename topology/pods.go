package topology

import (
	"fmt"
	"slices"
)

// Pods is the third level of a Tree: a three-level fat tree FT(3;M0,M1,M2), or a view of one with dead
// links: M2 pods of M1 leaves with M0 server ports each. A pod has one switch in
// every plane, to which each of its leaves has one cable; there are M0 planes
// unless stated otherwise. A plane has M1 top switches unless stated otherwise,
// each with one cable to the switch of that plane in every pod. All links have
// unit capacity.
//
// So a message between two leaves of a pod chooses a plane, and one between pods
// a plane and a top switch of it. Seen from the leaves, planes are spines: Lower
// is that two-level tree. Leaf l is in pod l/M1.
//
// Names: leaf5-spine2 is the cable from leaf 5 to its pod's switch in plane 2;
// pod1-spine2-top3 that from this switch of pod 1 to top switch 3 of the plane.
// A Pods is immutable and safe for concurrent use.
type Pods struct {
	lower *Tree
	pods  int
	tops  int
	dead  []bool // by topID
	nDead int
}

// maxTopLinks is the largest number of cables between pods and top switches,
// each pod, plane and top switch counted; it bounds memory.
const maxTopLinks = 1 << 20

// A TopLink is the cable between the switch of a pod in a plane and a top switch
// of that plane.
type TopLink struct{ Pod, Spine, Top int }

// String returns the name of the link, such as "pod1-spine2-top3".
func (l TopLink) String() string { return fmt.Sprintf("pod%d-spine%d-top%d", l.Pod, l.Spine, l.Top) }

// NewPods returns the three-level tree of o with every link alive.
func NewPods(o Options) (*Pods, error) {
	if o.Pods < 1 || o.Leaves%o.Pods != 0 {
		return nil, fmt.Errorf("%d pods for %d leaves: must be at least 1 and divide them", o.Pods, o.Leaves)
	}
	if o.Tops == 0 {
		o.Tops = o.Leaves / o.Pods
	}
	if o.Spines == 0 {
		o.Spines = o.Ports
	}
	if o.Tops < 1 || o.Tops > MaxPorts {
		return nil, fmt.Errorf("%d top switches in a plane: must be 1..%d", o.Tops, MaxPorts)
	}
	pods, tops := o.Pods, o.Tops
	if planes := max(o.Spines, 1); planes > MaxPorts || pods > MaxLeaves || pods*planes*tops > maxTopLinks {
		return nil, fmt.Errorf("%d pods, %d planes of %d top switches: at most %d, %d, and %d cables to top switches", pods, planes, tops, MaxLeaves, MaxPorts, maxTopLinks)
	}
	o.Pods, o.Tops = 0, 0
	lower, err := New(o)
	if err != nil {
		return nil, err
	}
	return &Pods{lower: lower, pods: pods, tops: tops, dead: make([]bool, pods*lower.spines*tops)}, nil
}

// Lower returns the tree of servers, leaves and planes, with planes as spines
// and its dead links.
func (p *Pods) Lower() *Tree { return p.lower }

// Pods returns M2, the number of pods.
func (p *Pods) Pods() int { return p.pods }

// Tops returns the number of top switches in a plane.
func (p *Pods) Tops() int { return p.tops }

// PodLeaves returns M1, the number of leaves of a pod; those of pod q are
// q·PodLeaves() and the next.
func (p *Pods) PodLeaves() int { return p.lower.leaves / p.pods }

// Pod returns the pod of a leaf.
func (p *Pods) Pod(leaf int) int { return leaf / (p.lower.leaves / p.pods) }

// topID returns the dense ID of a link between a pod and a top switch.
func (p *Pods) topID(l TopLink) int { return (l.Pod*p.lower.spines+l.Spine)*p.tops + l.Top }

// TopAlive reports whether the link between a pod's switch in a plane and a top
// switch of the plane is alive.
func (p *Pods) TopAlive(pod, spine, top int) bool { return !p.dead[p.topID(TopLink{pod, spine, top})] }

// Without returns a view of p in which the given links are dead as well.
func (p *Pods) Without(links []Link, tops []TopLink) (*Pods, error) {
	v := *p
	var err error
	if v.lower, err = p.lower.Without(links...); err != nil {
		return nil, err
	}
	v.dead = slices.Clone(p.dead)
	for _, l := range tops {
		if err := p.checkTop(l); err != nil {
			return nil, err
		}
		if id := p.topID(l); !v.dead[id] {
			v.dead[id] = true
			v.nDead++
		}
	}
	return &v, nil
}

func (p *Pods) checkTop(l TopLink) error {
	if l.Pod < 0 || l.Pod >= p.pods || l.Spine < 0 || l.Spine >= p.lower.spines || l.Top < 0 || l.Top >= p.tops {
		return fmt.Errorf("no link %q; %s", l, p.choices())
	}
	return nil
}

// choices says which switches there are, for error messages.
func (p *Pods) choices() string {
	return fmt.Sprintf("%s has leaf0..leaf%d, pod0..pod%d, spine0..spine%d and top0..top%d of each spine",
		p.Notation(), p.lower.leaves-1, p.pods-1, p.lower.spines-1, p.tops-1)
}
