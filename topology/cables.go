package topology

import (
	"fmt"
	"slices"
)

// WithoutAbsent is Without for links that the network never had: they are no damage, so Dead and
// Healthy leave them out.
func (t *Tree) WithoutAbsent(links ...Link) (*Tree, error) {
	v, err := t.Without(links...)
	if err != nil || len(links) == 0 {
		return t, err
	}
	v.absent = make([]bool, len(t.dead))
	copy(v.absent, t.absent)
	for _, l := range links {
		v.absent[t.LinkID(l)] = true
	}
	return v, nil
}

// OneCable returns an error where cables are parallel, for callers that do not support such trees.
func (t *Tree) OneCable(who string) error {
	if t.cables == 1 {
		return nil
	}
	return fmt.Errorf("%s has %d cables between a leaf and a spine; %s with one", t.Notation(), t.cables, who)
}

// Dead returns the dead links, by LinkID, without those that never were there.
func (t *Tree) Dead() []Link {
	return slices.DeleteFunc(t.Missing(), t.Absent)
}

// Absent reports whether a link is one that never was there.
func (t *Tree) Absent(l Link) bool { return t.absent != nil && t.absent[t.LinkID(l)] }

// Missing returns all links that carry nothing, by LinkID: the dead ones, and those that never were
// there.
func (t *Tree) Missing() []Link {
	out := []Link{}
	for id, dead := range t.dead {
		if dead {
			out = append(out, t.LinkOf(id))
		}
	}
	return out
}

// Damage counts dead cables, and all that the tree ever had. Links of one cable count once.
func (t *Tree) Damage() (dead, all int) {
	for id := range t.dead {
		l := t.LinkOf(id)
		if t.Absent(l) || t.CableOf(l)[0] != l {
			continue
		}
		if all++; t.dead[id] {
			dead++
		}
	}
	return dead, all
}

// CableOf returns the links that are one cable with a link, itself among them, by LinkID: a cable
// that carries several messages at once, each at the rate of a host, is as many links (Names.Ports,
// Names.Links).
func (t *Tree) CableOf(l Link) []Link {
	for _, own := range t.beside(l) {
		if slices.Contains(own, l) {
			return own
		}
	}
	return []Link{l}
}

// beside returns the links between a parallel link's leaf and spine, by cable, without those that
// never were there; nil where no port is known.
func (t *Tree) beside(l Link) (cables [][]Link) {
	if l.Cable == 0 || t.names == nil || t.names.Ports == nil {
		return nil
	}
	at := map[[2]uint8]int{}
	free := 0 // links of cables without known ports, so far
	for c := range t.cables {
		x := t.Cable(l.Leaf, l.Spine, c)
		id := t.LinkID(x)
		ports := t.names.Ports[id]
		if ports[0] == 0 && t.Absent(x) {
			continue
		}
		if ports[0] == 0 {
			ports[1] = uint8(free / max(1, t.names.Links))
			free++
		}
		i, ok := at[ports]
		if !ok {
			i = len(cables)
			at[ports], cables = i, append(cables, nil)
		}
		cables[i] = append(cables[i], x)
	}
	return cables
}
