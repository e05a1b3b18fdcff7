package topology

import (
	"fmt"
	"slices"

	"evbench/internal/show"
)

// Names are the network's names for the switches of a tree, by number, and for the ports at the
// lower and the upper end of its links, by LinkID; nil where they are not known.
type Names struct {
	Flags    []string // that give commands the network, nil where it is not known
	Switches []string
	Ports    [][2]string
}

// Named returns the same tree with other names, which Links accepts besides ours and which replace
// ours in output. nil removes them.
func (t *Tree) Named(n *Names) *Tree {
	v := *t
	v.names = n
	return &v
}

// Names returns the other names of the tree, nil without any.
func (t *Tree) Names() *Names { return t.names }

// LinkName returns the name of a link: our String or, in a tree with other names, lower switch,
// dash, upper switch, and the number of a parallel cable.
func (t *Tree) LinkName(l Link) string {
	if t.names == nil {
		return l.String()
	}
	low, high := t.Ends(l)
	return t.names.Switches[low.Switch] + "-" + t.names.Switches[high.Switch] + l.number()
}

// LinkNames returns the names of links in their order; it is never nil.
func (t *Tree) LinkNames(links []Link) []string {
	names := make([]string, len(links))
	for i, l := range links {
		names[i] = t.LinkName(l)
	}
	return names
}

// DownNames returns the names of the dead links, in the order of Dead.
func (t *Tree) DownNames() []string { return t.LinkNames(t.Dead()) }

// called returns the links for a name in the tree's other names: a link, a port, or a switch.
func (t *Tree) called(name string) (out []Link) {
	if t.names == nil {
		return nil
	}
	sw := slices.Index(t.names.Switches, name)
	for id := range t.dead {
		l := t.LinkOf(id)
		low, high := t.Ends(l)
		if low.Switch == sw || high.Switch == sw || slices.Contains(t.aliases(id), name) {
			out = append(out, l)
		}
	}
	return out
}

func (t *Tree) aliases(id int) []string {
	l := t.LinkOf(id)
	low, high := t.Ends(l)
	a, b := t.names.Switches[low.Switch], t.names.Switches[high.Switch]
	out := []string{a + "-" + b, b + "-" + a}
	if l.Cable > 0 {
		out = append(out, out[0]+l.number(), out[1]+l.number())
	}
	if t.names.Ports != nil {
		out = append(out, t.names.Ports[id][:]...)
	}
	return out
}

// Ambiguous reports whether one of the tree's names is our name for another switch. Our names then
// do not count.
func (t *Tree) Ambiguous() bool {
	if t.names == nil {
		return false
	}
	own, at := t.Named(nil), map[string]int{}
	for sw, name := range t.names.Switches {
		at[name] = sw
	}
	for sw := range t.Switches() {
		if other, ok := at[own.SwitchName(sw)]; ok && other != sw {
			return true
		}
	}
	return false
}

// meant proposes a name.
func (t *Tree) meant(name string) string {
	choices := slices.Clone(t.names.Switches)
	for id := range t.dead {
		choices = append(choices, t.LinkName(t.LinkOf(id)))
	}
	if near := show.Nearest(name, choices); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	low, _ := t.Ends(t.LinkOf(0))
	return fmt.Sprintf("there are links such as %q and switches such as %q", t.LinkName(t.LinkOf(0)), t.names.Switches[low.Switch])
}
