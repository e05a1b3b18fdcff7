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
func (v *Live) Renamed() bool { return v.renamed }

// Names returns the other names of the tree, nil without any.
func (v *Live) Names() *Names { return v.names }

// SwitchName returns the name of a switch: leaf0, spine3; on three levels pod1-spine2 and
// spine2-top3; or its name in a tree with other names.
func (v *Live) SwitchName(sw int) string {
	k := sw - v.leaves
	switch {
	case v.names != nil:
		return v.names.Switches[sw]
	case k < 0:
		return fmt.Sprintf("leaf%d", sw)
	case v.tops == 0:
		return fmt.Sprintf("spine%d", k)
	case k < v.Middles():
		return fmt.Sprintf("pod%d-spine%d", k/v.spines, k%v.spines)
	}
	spine, top := v.SpineTop(k - v.Middles())
	return fmt.Sprintf("spine%d-top%d", spine, top)
}

// HostName returns the network's name for the host of a rank, else that of its server.
func (v *Live) HostName(rank int) string {
	if v.names != nil && rank < len(v.names.Hosts) && v.names.Hosts[rank] != "" {
		return v.names.Hosts[rank]
	}
	return v.ServerName(rank)
}

// LinkName returns the name of a link: our String or, in a tree with other names, lower switch,
// dash, upper switch. Parallel cables are told apart by the ports at their ends, "?" for those of a
// cable that the network does not have; by their number where no port is known.
func (v *Live) LinkName(l Link) string {
	if v.names != nil && v.names.Called != nil {
		return v.names.Called[v.LinkID(l)]
	} else if plain := l.Cable == 0 || v.names == nil || v.names.Ports == nil; plain && !v.renamed {
		return l.String()
	} else if plain {
		return v.pairNames(l)[0] + l.number()
	}
	if len(v.beside(l)) == 1 { // there is one cable
		return v.pairNames(l)[0]
	}
	if a, b, known := v.portNames(l); known {
		return a + "-" + b
	}
	part, each := "/?", max(1, v.names.Links)
	if missing := v.portless(l); len(missing) > each {
		part += strconv.Itoa(1 + slices.Index(missing, l)/each)
	}
	low, high := v.Ends(l)
	return v.SwitchName(low.Switch) + part + "-" + v.SwitchName(high.Switch) + part
}

// portNames returns the names of the ports at the ends of a link in a tree with other names, and
// whether they are known.
func (v *Live) portNames(l Link) (a, b string, known bool) {
	if v.names.Ports == nil || v.names.Ports[v.LinkID(l)][0] == 0 {
		return "", "", false
	}
	low, high := v.Ends(l)
	port := v.names.Ports[v.LinkID(l)]
	return fmt.Sprintf("%s/%d", v.SwitchName(low.Switch), port[0]), fmt.Sprintf("%s/%d", v.SwitchName(high.Switch), port[1]), true
}

// portless returns the cables beside a parallel one, or itself, that the network does not have. It
// is nil where no port is known.
func (v *Live) portless(l Link) (out []Link) {
	if v.names == nil || v.names.Ports == nil || l.Cable == 0 {
		return nil
	}
	for c := range v.cables {
		if x := v.Cable(l.Leaf, l.Spine, c); v.names.Ports[v.LinkID(x)][0] == 0 && !v.Absent(x) {
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
func (v *Live) Countable(l Link) error {
	missing := v.portless(l)
	if missing == nil {
		return nil
	}
	var live []string
	for c := range v.cables {
		if x := v.Cable(l.Leaf, l.Spine, c); !slices.Contains(missing, x) {
			live = append(live, v.LinkName(x))
		}
	}
	low, high := v.Ends(l)
	return UncountedError(fmt.Sprintf("%s and %s are joined by %d of %d cables, and it is not known which are missing: in place of a number write %s",
		v.SwitchName(low.Switch), v.SwitchName(high.Switch), len(live), v.cables, cmp.Or(strings.Join(live, ", "), v.LinkName(l))))
}

// PathName names a path between any two leaves: its spine or top switch, and the cables up and down
// if they are parallel.
func (v *Live) PathName(path int) string {
	if v.cables == 1 {
		return v.SwitchName(v.Switches() - v.Paths() + path)
	}
	spine, lane := v.SpineTop(path)
	up, down := v.LaneCables(lane)
	return fmt.Sprintf("%s.%d.%d", v.SwitchName(v.leaves+spine), up, down)
}

// WireName returns the cable's name ("leaf0-spine3", "pod1-spine2-top3", "server17-leaf4") and
// the direction ("up" is away from the servers).
func (v *Live) WireName(w Wire) (link, direction string) {
	direction = "up"
	if w%2 == 1 {
		direction = "down"
	}
	id, n := int(w)/2, v.LowerLinks()
	switch {
	case id >= n+v.Servers():
		return v.LinkName(v.LinkOf(id - v.Servers())), direction
	case id >= n:
		return v.ServerName(id-n) + "-" + v.SwitchName(v.Leaf(id-n)), direction
	}
	return v.LinkName(v.LinkOf(id)), direction
}

// LinkNames returns the names of links in their order; it is never nil.
func (v *Live) LinkNames(links []Link) []string {
	return lists.Tabulate(len(links), func(i int) string { return v.LinkName(links[i]) })
}

// DownNames returns the names of the dead cables, in the order of Dead.
func (v *Live) DownNames() []string {
	return v.LinkNames(slices.DeleteFunc(v.Dead(), func(l Link) bool { return v.CableOf(l)[0] != l }))
}

// called returns the links for a name in the tree's other names: a link, a port, a switch, a
// parallel cable by its ports or its number. A number that says nothing is an error.
func (v *Live) called(name string) (out []Link, err error) {
	if v.names == nil {
		return nil, nil
	}
	sw := slices.Index(v.names.Switches, name)
	is := func(e End) bool { return e.Switch == sw || sw >= 0 && v.OneSwitch(e.Switch, sw) }
	for id := range v.dead {
		l := v.LinkOf(id)
		low, high := v.Ends(l)
		if is(low) || is(high) || slices.Contains(v.aliases(id), name) {
			out = append(out, v.CableOf(l)...)
		} else if slices.Contains(v.numbers(l), name) {
			if err := v.Countable(l); err != nil {
				return nil, err
			}
			return v.CableOf(l), nil
		}
	}
	slices.SortFunc(out, Link.Compare)
	return slices.Compact(out), nil
}

// OneSwitch reports whether two switches are one of the network.
func (v *Live) OneSwitch(a, b int) bool {
	return a == b || v.names != nil && v.names.Switch != nil && v.names.Switch[a] == v.names.Switch[b]
}

// pairNames names the switches that a link joins, in both orders.
func (v *Live) pairNames(l Link) [2]string {
	low, high := v.Ends(l)
	a, b := v.SwitchName(low.Switch), v.SwitchName(high.Switch)
	return [2]string{a + "-" + b, b + "-" + a}
}

// numbers are the names of a parallel cable by its number.
func (v *Live) numbers(l Link) []string {
	if l.Cable == 0 {
		return nil
	}
	both := v.pairNames(l)
	return []string{both[0] + l.number(), both[1] + l.number()}
}

func (v *Live) aliases(id int) []string {
	l := v.LinkOf(id)
	both := v.pairNames(l)
	out := both[:]
	if a, b, known := v.portNames(l); known {
		out = append(out, a, b, a+"-"+b, b+"-"+a)
	}
	if len(v.portless(l)) > 0 {
		out = append(out, v.LinkName(l))
	}
	return out
}

// Ambiguous reports whether one of the tree's names is our name for another switch. Our names then
// do not count.
func (v *Live) Ambiguous() bool {
	if v.names == nil {
		return false
	}
	own, at := Live{Wires: v.Wires}, map[string]int{}
	for sw, name := range v.names.Switches {
		at[name] = sw
	}
	for sw := range v.Switches() {
		if other, ok := at[own.SwitchName(sw)]; ok && other != sw {
			return true
		}
	}
	return false
}

// unknown is the error for a name that no link and no switch of the network has.
func (v *Live) unknown(name string) error {
	if i := strings.LastIndexByte(name, '/'); i >= 0 && slices.Contains(v.names.Switches, name[:i]) {
		return fmt.Errorf("no cable at port %q; %s", name, v.meant(name))
	}
	return fmt.Errorf("no link or switch %q; %s", name, v.meant(name))
}

// meant proposes a name.
func (v *Live) meant(name string) string {
	choices := slices.Clone(v.names.Switches)
	for id := range v.dead {
		choices = append(choices, v.LinkName(v.LinkOf(id)))
	}
	if near := show.Nearest(name, choices); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	low, _ := v.Ends(v.LinkOf(0))
	return fmt.Sprintf("there are links such as %q and switches such as %q", v.LinkName(v.LinkOf(0)), v.names.Switches[low.Switch])
}
