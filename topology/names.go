package topology

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"evbench/internal/lists"
	"evbench/internal/show"
)

// Names are the network's names for the switches of a tree, by number, its hosts, by rank of their
// servers, and the ports at the lower and the upper end of its links, by LinkID: 0 of a link without
// a cable in the network, nil where none is known. Links with the same ports are one cable; so are
// each Links of those without a cable, 0 meaning 1. Cables are, by LinkID, the links of one cable between
// different switches of the tree, which are one switch of the network where Switch has the same number.
// Called are names of links, by LinkID, that say nothing of switches of the tree.
type Names struct {
	Flags    []string // that give commands the network, nil where it is not known
	Switches []string
	Hosts    []string // nil where none is known
	Ports    [][2]uint8
	Links    int
	Cables   [][]Link // nil: there are none such
	Switch   []int    // likewise
	Called   []string // likewise
	Guess    string   // why shares of the link rate are guesses, "" where they are not
}

// Named returns the same tree with other names, which Links accepts besides ours and which replace
// ours in output. nil removes them. O(switches).
func (t *Tree) Named(n *Names) *Tree {
	v := *t
	v.names, v.renamed = nil, false
	for sw := 0; n != nil && sw < t.Switches() && !v.renamed; sw++ {
		v.renamed = v.SwitchName(sw) != n.Switches[sw]
	}
	v.names = n
	return &v
}

// Renamed reports whether the switches have other names than ours.
func (t *Tree) Renamed() bool { return t.renamed }

// Names returns the other names of the tree, nil without any.
func (t *Tree) Names() *Names { return t.names }

// SwitchName returns the name of a switch: leaf0, spine3; on three levels pod1-spine2 and
// spine2-top3; or its name in a tree with other names.
func (t *Tree) SwitchName(sw int) string {
	k := sw - t.leaves
	switch {
	case t.names != nil:
		return t.names.Switches[sw]
	case k < 0:
		return fmt.Sprintf("leaf%d", sw)
	case t.tops == 0:
		return fmt.Sprintf("spine%d", k)
	case k < t.Middles():
		return fmt.Sprintf("pod%d-spine%d", k/t.spines, k%t.spines)
	}
	spine, top := t.SpineTop(k - t.Middles())
	return fmt.Sprintf("spine%d-top%d", spine, top)
}

// HostName returns the network's name for the host of a rank, else that of its server.
func (t *Tree) HostName(rank int) string {
	if t.names != nil && rank < len(t.names.Hosts) && t.names.Hosts[rank] != "" {
		return t.names.Hosts[rank]
	}
	return t.ServerName(rank)
}

// LinkName returns the name of a link: our String or, in a tree with other names, lower switch,
// dash, upper switch. Parallel cables are told apart by the ports at their ends, "?" for those of a
// cable that the network does not have; by their number where no port is known.
func (t *Tree) LinkName(l Link) string {
	if t.names != nil && t.names.Called != nil {
		return t.names.Called[t.LinkID(l)]
	} else if plain := l.Cable == 0 || t.names == nil || t.names.Ports == nil; plain && !t.renamed {
		return l.String()
	} else if plain {
		return t.pairNames(l)[0] + l.number()
	}
	if len(t.beside(l)) == 1 { // there is one cable
		return t.pairNames(l)[0]
	}
	if a, b, known := t.portNames(l); known {
		return a + "-" + b
	}
	part, each := "/?", max(1, t.names.Links)
	if missing := t.portless(l); len(missing) > each {
		part += strconv.Itoa(1 + slices.Index(missing, l)/each)
	}
	low, high := t.Ends(l)
	return t.SwitchName(low.Switch) + part + "-" + t.SwitchName(high.Switch) + part
}

// portNames returns the names of the ports at the ends of a link in a tree with other names, and
// whether they are known.
func (t *Tree) portNames(l Link) (a, b string, known bool) {
	if t.names.Ports == nil || t.names.Ports[t.LinkID(l)][0] == 0 {
		return "", "", false
	}
	low, high := t.Ends(l)
	port := t.names.Ports[t.LinkID(l)]
	return fmt.Sprintf("%s/%d", t.SwitchName(low.Switch), port[0]), fmt.Sprintf("%s/%d", t.SwitchName(high.Switch), port[1]), true
}

// portless returns the cables beside a parallel one, or itself, that the network does not have. It
// is nil where no port is known.
func (t *Tree) portless(l Link) (out []Link) {
	if t.names == nil || t.names.Ports == nil || l.Cable == 0 {
		return nil
	}
	for c := range t.cables {
		if x := t.Cable(l.Leaf, l.Spine, c); t.names.Ports[t.LinkID(x)][0] == 0 && !t.Absent(x) {
			out = append(out, x)
		}
	}
	return out
}

// An UncountedError says that the number of a parallel cable does not tell which it is.
type UncountedError string

func (e UncountedError) Error() string { return string(e) }

// Countable returns an UncountedError for a parallel cable if the network lacks one beside it, or
// itself, at ports that are not known.
func (t *Tree) Countable(l Link) error {
	missing := t.portless(l)
	if missing == nil {
		return nil
	}
	var live []string
	for c := range t.cables {
		if x := t.Cable(l.Leaf, l.Spine, c); !slices.Contains(missing, x) {
			live = append(live, t.LinkName(x))
		}
	}
	low, high := t.Ends(l)
	return UncountedError(fmt.Sprintf("%s and %s are joined by %d of %d cables, and it is not known which are missing: in place of a number write %s",
		t.SwitchName(low.Switch), t.SwitchName(high.Switch), len(live), t.cables, cmp.Or(strings.Join(live, ", "), t.LinkName(l))))
}

// PathName names a path between any two leaves: its spine or top switch, and the cables up and down
// if they are parallel.
func (t *Tree) PathName(path int) string {
	if t.cables == 1 {
		return t.SwitchName(t.Switches() - t.Paths() + path)
	}
	spine, lane := t.SpineTop(path)
	up, down := t.LaneCables(lane)
	return fmt.Sprintf("%s.%d.%d", t.SwitchName(t.leaves+spine), up, down)
}

// WireName returns the cable's name ("leaf0-spine3", "pod1-spine2-top3", "server17-leaf4") and
// the direction ("up" is away from the servers).
func (t *Tree) WireName(w Wire) (link, direction string) {
	direction = "up"
	if w%2 == 1 {
		direction = "down"
	}
	id, n := int(w)/2, t.LowerLinks()
	switch {
	case id >= n+t.Servers():
		return t.LinkName(t.LinkOf(id - t.Servers())), direction
	case id >= n:
		return t.ServerName(id-n) + "-" + t.SwitchName(t.Leaf(id-n)), direction
	}
	return t.LinkName(t.LinkOf(id)), direction
}

// LinkNames returns the names of links in their order; it is never nil.
func (t *Tree) LinkNames(links []Link) []string {
	return lists.Tabulate(len(links), func(i int) string { return t.LinkName(links[i]) })
}

// DownNames returns the names of the dead cables, in the order of Dead.
func (t *Tree) DownNames() []string {
	return t.LinkNames(slices.DeleteFunc(t.Dead(), func(l Link) bool { return t.CableOf(l)[0] != l }))
}

// called returns the links for a name in the tree's other names: a link, a port, a switch, a
// parallel cable by its ports or its number. A number that says nothing is an error.
func (t *Tree) called(name string) (out []Link, err error) {
	if t.names == nil {
		return nil, nil
	}
	sw := slices.Index(t.names.Switches, name)
	is := func(e End) bool { return e.Switch == sw || sw >= 0 && t.OneSwitch(e.Switch, sw) }
	for id := range t.dead {
		l := t.LinkOf(id)
		low, high := t.Ends(l)
		if is(low) || is(high) || slices.Contains(t.aliases(id), name) {
			out = append(out, t.CableOf(l)...)
		} else if slices.Contains(t.numbers(l), name) {
			if err := t.Countable(l); err != nil {
				return nil, err
			}
			return t.CableOf(l), nil
		}
	}
	slices.SortFunc(out, Link.Compare)
	return slices.Compact(out), nil
}

// OneSwitch reports whether two switches are one of the network.
func (t *Tree) OneSwitch(a, b int) bool {
	return a == b || t.names != nil && t.names.Switch != nil && t.names.Switch[a] == t.names.Switch[b]
}

// pairNames names the switches that a link joins, in both orders.
func (t *Tree) pairNames(l Link) [2]string {
	low, high := t.Ends(l)
	a, b := t.SwitchName(low.Switch), t.SwitchName(high.Switch)
	return [2]string{a + "-" + b, b + "-" + a}
}

// numbers are the names of a parallel cable by its number.
func (t *Tree) numbers(l Link) []string {
	if l.Cable == 0 {
		return nil
	}
	both := t.pairNames(l)
	return []string{both[0] + l.number(), both[1] + l.number()}
}

func (t *Tree) aliases(id int) []string {
	l := t.LinkOf(id)
	both := t.pairNames(l)
	out := both[:]
	if a, b, known := t.portNames(l); known {
		out = append(out, a, b, a+"-"+b, b+"-"+a)
	}
	if len(t.portless(l)) > 0 {
		out = append(out, t.LinkName(l))
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

// unknown is the error for a name that no link and no switch of the network has.
func (t *Tree) unknown(name string) error {
	if i := strings.LastIndexByte(name, '/'); i >= 0 && slices.Contains(t.names.Switches, name[:i]) {
		return fmt.Errorf("no cable at port %q; %s", name, t.meant(name))
	}
	return fmt.Errorf("no link or switch %q; %s", name, t.meant(name))
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
