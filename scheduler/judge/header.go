package judge

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"evbench/topology"
)

// A header holds the statements of a file before they are combined.
type header struct {
	stated map[string]string   // by key
	at     map[string]int      // the line of a key
	listed map[string][]string // lines of keys that may come several times: x-switch, x-cable, x-slow, x-host, x-port, x-weight

	engines []string // routings that were handed in
}

func (h *header) wrong(key, format string, args ...any) error {
	return fmt.Errorf("line %d: "+format, append([]any{h.at[key]}, args...)...)
}

func (h *header) apply(f *File) (err error) {
	f.stated, f.hosts, f.to, f.weights = h.stated, h.listed[HostKey], h.listed[portKey], h.listed[WeightKey]
	f.Schedule, f.Hash, f.Sizes, f.Routing = h.stated["schedule"], h.stated["hash"], h.stated["sizes"], cmp.Or(h.stated["routing"], "pinned")
	f.sized = f.Form == 2 || f.Form > 2 && f.Sizes != ""
	if f.Form == 3 || h.stated["hosts"] != "" {
		f.Over, err = newOver(h.stated)
		if err != nil {
			if key, what, _ := strings.Cut(err.Error(), ": "); h.at[key] > 0 {
				err = h.wrong(key, "%s: %s", key, what)
			}
		}
	} else {
		f.Tree, err = h.tree()
	}
	if err == nil {
		err = h.times(f)
	}
	if err == nil && f.Over == nil {
		err = h.ofTree(f)
	}
	if err == nil && h.stated["bound"] != "" {
		f.Bound, err = h.lower(f)
	}
	return err
}

// number reads a number of a line; there is none without the line.
func (h *header) number(key string) (n int, there bool, err error) {
	value, there := h.stated[key]
	if n, err = strconv.Atoi(value); there && err != nil {
		return 0, true, h.wrong(key, "%s %q is not a number", key, value)
	}
	return n, there, nil
}

// times reads the stated phases, the window and the stated time.
func (h *header) times(f *File) (err error) {
	phases, there, err := h.number("phases")
	switch {
	case err != nil:
		return err
	case there && (phases < 1 && f.Over == nil || phases < 0):
		return h.wrong("phases", "%d phases: must be at least 1", phases)
	}
	f.Phases, f.Window = phases, 1
	if window := h.stated["window"]; window != "" {
		n, ok := count(window)
		if f.Window = int(n); !ok || n < 1 || n > maxWindow {
			return h.wrong("window", "window %q: must be a whole number of exchanges, 1..%d", shorten([]byte(window)), maxWindow)
		}
	}
	text := h.stated["time"]
	if text == "" {
		return nil
	}
	f.Time, err = strconv.ParseFloat(text, 64)
	whole, ok := count(text)
	switch {
	case f.sized && f.Over == nil && (!ok || whole < 1):
		return h.wrong("time", "time %q: must be a whole number of byte times, 1..%d", shorten([]byte(text)), int64(maxTime))
	case err != nil || !(f.Time >= 0 && f.Time <= maxTime):
		return h.wrong("time", "time %q: must be a number, 0..%d", shorten([]byte(text)), int64(maxTime))
	}
	return nil
}

// ofTree reads what only plans of trees state.
func (h *header) ofTree(f *File) (err error) {
	if _, ok := routings[f.Routing]; !ok && !slices.Contains(h.engines, f.Routing) {
		return h.wrong("routing", "no routing %q; there are %s", f.Routing, routingNames)
	}
	if f.sized && f.Routing != "pinned" {
		return h.wrong("routing", "routing %q: plans of fragments of unequal size are pinned", shorten([]byte(f.Routing)))
	}
	if f.Unreachable, err = h.leftOut(f.Tree.Leaves()); err == nil {
		f.Rates, err = h.rates(f.Tree)
	}
	return err
}

var errNoTopology = errors.New("no topology: a plan file states one, for example FT(2;4,8)")

// tree builds the tree key by key, so that an error names the right one.
func (h *header) tree() (*topology.Tree, error) {
	notation := h.stated["topology"]
	if notation == "" {
		return nil, errNoTopology
	}
	o, err := topology.Parse(notation)
	t := (*topology.Tree)(nil)
	if err == nil {
		t, err = build(o)
	}
	if err != nil {
		return nil, h.wrong("topology", "%w", err)
	}
	spines, there, err := h.number("spines")
	if err != nil {
		return nil, err
	}
	if there {
		if err = setSpines(&o, notation, spines); err == nil {
			t, err = build(o)
		}
		if err != nil {
			return nil, h.wrong("spines", "%w", err)
		}
	}
	if fill := h.stated["fill"]; fill != "" {
		if o.Fill, err = topology.ParseFill(fill); err == nil {
			t, err = build(o)
		}
		if err != nil {
			return nil, h.wrong("fill", "%w", err)
		}
	}
	if s := t.Servers(); s > maxServers {
		return nil, h.wrong("topology", "%d servers: plans of at most %d are judged", s, maxServers)
	}
	if t.Levels() == 3 && t.Pods()*t.Spines() > maxEntries/t.Servers() {
		return nil, h.wrong("topology", "%d pods, %d planes and %d servers: plans of at most %d forwarding table entries are judged",
			t.Pods(), t.Spines(), t.Servers(), maxEntries)
	}
	if t, err = h.without(t); err == nil {
		t, err = h.withRoles(t)
	}
	if err != nil {
		return nil, err
	}
	return h.named(t), nil
}

// build makes a tree. It refuses a large tree before it allocates anything of that size. A missing
// factor follows from another: planes are M0, top switches M1 unless the notation says otherwise.
func build(o topology.Options) (*topology.Tree, error) {
	planes, tops := cmp.Or(o.Spines, o.Ports), cmp.Or(o.Tops, o.Leaves/max(1, o.Pods))
	if o.Pods > maxTopLinks || o.Pods > 0 && (planes > maxTopLinks || tops > maxTopLinks || o.Pods*planes > maxTopLinks/max(1, tops)) {
		return nil, fmt.Errorf("%d pods, %d planes, %d top switches in each: plans of at most %d links between them are judged", o.Pods, planes, tops, maxTopLinks)
	}
	return topology.New(o)
}

func setSpines(o *topology.Options, notation string, n int) error {
	switch {
	case o.Pods != 0:
		return errors.New("a tree of three levels states its planes in the topology: PGFT(3;M0,M1,M2;1,planes,tops;1,1,1)")
	case n < 1:
		return fmt.Errorf("%d spines: must be at least 1", n)
	case (o.Spines != 0 || o.Cables > 1) && cmp.Or(o.Spines, o.Ports) != n:
		return fmt.Errorf("%d spines, but the topology %s has %d", n, notation, cmp.Or(o.Spines, o.Ports))
	}
	o.Spines = n
	return nil
}

func (h *header) without(t *topology.Tree) (*topology.Tree, error) {
	var dead []topology.Link
	for _, name := range names(h.stated["down"]) {
		links, err := t.Links(name)
		if err != nil {
			return nil, h.wrong("down", "%w", err)
		}
		dead = append(dead, links...)
	}
	return t.Without(dead...)
}

func (h *header) withRoles(t *topology.Tree) (*topology.Tree, error) {
	readers, builders := h.stated["readers"], h.stated["builders"]
	switch {
	case readers == "" && builders == "":
		return t, nil
	case readers == "" || builders == "":
		return nil, h.wrong(map[bool]string{true: "builders", false: "readers"}[readers == ""], "a plan states readers and builders, or neither")
	}
	if _, err := t.WithRoles("", builders); err != nil {
		return nil, h.wrong("builders", "%w", err)
	}
	v, err := t.WithRoles(readers, builders)
	if err != nil {
		return nil, h.wrong("readers", "%w", err)
	}
	return v, nil
}

var pairRE = regexp.MustCompile(`^leaf(\d{1,6})-leaf(\d{1,6})$`)

// leftOut reads the pairs of leaves whose messages are left out. Check tests whether they are
// unreachable.
func (h *header) leftOut(leaves int) (out [][2]int, err error) {
	seen := map[[2]int]bool{}
	for _, name := range names(h.stated["unreachable"]) {
		m := pairRE.FindStringSubmatch(name)
		if m == nil {
			return nil, h.wrong("unreachable", "%q is not a pair of leaves (leaf0-leaf3)", shorten([]byte(name)))
		}
		a, _ := strconv.Atoi(m[1])
		b, _ := strconv.Atoi(m[2])
		pair := [2]int{min(a, b), max(a, b)}
		switch {
		case pair[1] >= leaves:
			return nil, h.wrong("unreachable", "no leaf%d; there are leaf0..leaf%d", pair[1], leaves-1)
		case a == b:
			return nil, h.wrong("unreachable", "%q is one leaf, not a pair", name)
		case seen[pair]:
			return nil, h.wrong("unreachable", "leaf%d-leaf%d is listed twice", pair[0], pair[1])
		}
		seen[pair] = true
		out = append(out, pair)
	}
	return out, nil
}

// lower reads the stated bound: "38 leaf0", "60 hall3 leaf1,leaf4" or "18 lp leaf0-spine1/up=3,leaf2-spine1/down=5" of a
// plan in phases, "1200 send server3" where sizes differ, "94 s1_3/7" over tables. Check tests its proof.
func (h *header) lower(f *File) (b Bound, err error) {
	bound := h.stated["bound"]
	value, kind, _ := strings.Cut(bound, " ")
	b.Value, err = strconv.ParseFloat(value, 64)
	whole, ok := count(value)
	b.Kind = kind
	switch {
	case f.Over != nil && (err != nil || kind == "" || !(b.Value >= 0)):
		return b, h.wrong("bound", "bound %q: write a time and the link that needs it", shorten([]byte(bound)))
	case f.Over != nil:
		return b, nil
	case f.sized && (!ok || whole < 1 || kind == ""):
		return b, h.wrong("bound", "bound %q: write byte times and what proves them, for example 1200 send server3", shorten([]byte(bound)))
	case f.sized:
		return b, nil
	case !ok || kind == "":
		return b, h.wrong("bound", "bound %q: write a number of phases and what proves it, for example 38 leaf0", shorten([]byte(bound)))
	case whole < 1:
		return b, h.wrong("bound", "a bound of %d phases: must be at least 1", whole)
	}
	witness := ""
	b.Kind, witness, ok = strings.Cut(kind, " ")
	family, _, known := witnessIn(f.Tree.Shape, b.Kind)
	switch {
	case !known:
		return b, h.wrong("bound", "no witness %q; there are %s", shorten([]byte(b.Kind)), witnesses(f.Tree.Shape))
	case !ok:
		return b, nil
	case family == lp:
		if b.Weights, err = weightsOf(f.Tree, names(witness)); err != nil {
			return b, h.wrong("bound", "%w", err)
		}
		return b, nil
	case family != byHall:
		return b, h.wrong("bound", "a set of leaves is part of a hall witness, not of %s", b.Kind)
	}
	for _, name := range names(witness) {
		leaf, ok := leafOf(name)
		if !ok {
			return b, h.wrong("bound", "%q is not a leaf (leaf3)", shorten([]byte(name)))
		}
		b.Subset = append(b.Subset, leaf)
	}
	return b, nil
}

// weights reads "leaf0-spine1/up=3" and the like.
func weightsOf(t *topology.Tree, entries []string) (out []DualWeight, err error) {
	t = t.Named(nil)
	seen := map[topology.Wire]bool{}
	for _, entry := range entries {
		link, rest := entry, "" // a cable has a slash in its name
		if i := strings.LastIndexByte(entry, '/'); i >= 0 {
			link, rest = entry[:i], entry[i+1:]
		}
		direction, number, _ := strings.Cut(rest, "=")
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%q: write a link, a direction and a weight, leaf0-spine1/up=3", shorten([]byte(entry)))
		}
		w, err := wireOf(&t.Live, link, direction)
		switch {
		case err != nil:
			return nil, err
		case seen[w]:
			return nil, fmt.Errorf("%s %s has a weight already", link, direction)
		}
		seen[w] = true
		out = append(out, DualWeight{w, n})
	}
	return out, nil
}

func wireOf(t *topology.Live, link, direction string) (topology.Wire, error) {
	links, err := t.Links(link)
	switch {
	case err != nil:
		return 0, err
	case len(links) != 1 || links[0].String() != link:
		return 0, fmt.Errorf("%q is not a link (leaf0-spine3)", link)
	case direction == "up":
		return t.UpWire(links[0]), nil
	case direction == "down":
		return t.UpWire(links[0]) + 1, nil // the two wires of a cable are neighbours
	}
	return 0, fmt.Errorf("direction %q: must be up (away from the servers) or down", direction)
}

// rates are those of the slow cables.
func (h *header) rates(t *topology.Tree) (r topology.Rates, err error) {
	at := t.Positions()
	t = t.Named(nil)
	for _, line := range h.listed[SlowKey] {
		f := strings.Fields(line)
		share := 0.0
		if len(f) == 2 {
			share, _ = strconv.ParseFloat(f[1], 64)
		}
		if !(share > 0 && share < 1) {
			return r, fmt.Errorf("%s %q: write a server or a link, and its share of the link rate, 0 to 1", SlowKey, shorten([]byte(line)))
		}
		if n, server := strings.CutPrefix(f[0], "server"); server {
			position, err := strconv.Atoi(n)
			rank := slices.Index(at, position)
			if err != nil || rank < 0 {
				return r, fmt.Errorf("%s: no server %q", SlowKey, shorten([]byte(f[0])))
			}
			r.Hosts = append(r.Hosts, topology.SlowHost{Rank: rank, Share: share})
			continue
		}
		links, err := t.Links(f[0])
		if err != nil {
			return r, fmt.Errorf("%s: %w", SlowKey, err)
		}
		for _, l := range links {
			r.Slow = append(r.Slow, topology.SlowLink{Link: l, Share: share})
		}
	}
	return r, nil
}

// named gives a tree the names of the header, if each switch has one. The names are for people; the
// ports also find the cables in a network.
func (h *header) named(t *topology.Tree) *topology.Tree {
	names, stated := &topology.Names{}, h.listed[SwitchKey]
	if len(stated) != t.Switches() {
		return t
	}
	for sw, line := range stated {
		own, name, _ := strings.Cut(line, " ")
		if own != t.SwitchName(sw) || name == "" {
			return t
		}
		names.Switches = append(names.Switches, name)
	}
	names.Ports = h.ports(&t.Live)
	return t.Named(names)
}

// ports are the ports of the parallel cables, nil if no line names any.
func (h *header) ports(t *topology.Live) (ports [][2]uint8) {
	for _, line := range h.listed[CableKey] {
		f := strings.Fields(line)
		if len(f) != 3 {
			return nil
		}
		links, err := t.Links(f[0])
		low, lowErr := strconv.ParseUint(f[1], 10, 8)
		high, highErr := strconv.ParseUint(f[2], 10, 8)
		if err != nil || len(links) != 1 || links[0].Cable == 0 || cmp.Or(lowErr, highErr) != nil {
			return nil
		}
		if ports == nil {
			ports = make([][2]uint8, t.AllLinks())
		}
		ports[t.LinkID(links[0])] = [2]uint8{uint8(low), uint8(high)}
	}
	return ports
}
