package topology

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"evbench/internal/lists"
)

var notationRE = regexp.MustCompile(`^(FT|PGFT|kary|KARY)\s*\(([^()]*)\)$`)

// Parse reads the notation of a tree (thesis ch. 2): FT(2;M0,M1) or FT(3;M0,M1,M2); Zahavi's
// parallel-ports generalised fat tree, PGFT(L;m1,…;w1,…;p1,…), in which a switch of level l has m_l
// children, a node of level l-1 has w_l parents, and p_l parallel cables lead to each; or kary(k;n)
// = FT(n;k,…,k). Here a server has one cable, w1 = p1 = 1, and so do two switches of three levels,
// p2 = p3 = 1.
func Parse(notation string) (Options, error) {
	kind, groups, err := split(notation)
	if err != nil {
		return Options{}, err
	}
	if n := groups[0]; len(n) == 1 && n[0] > 3 {
		return Options{}, fmt.Errorf("topology %q: %d levels; trees of 2 and 3 are planned, FT(2;M0,M1) and FT(3;M0,M1,M2) "+
			"(evbench topo and routes build networks of any number)", notation, n[0])
	}
	if len(groups[0]) != 1 || groups[0][0] < 2 {
		return Options{}, fmt.Errorf("topology %q: trees of 2 and 3 levels are supported: FT(2;M0,M1), FT(3;M0,M1,M2)%s", notation, Meant(notation))
	}
	var o Options
	switch levels := groups[0][0]; {
	case kind == "FT" && len(groups) == 2 && len(groups[1]) == levels:
		o = fatTree(groups[1])
	case kind == "PGFT" && len(groups) == 4 && len(groups[1]) == levels && len(groups[2]) == levels && len(groups[3]) == levels:
		o, err = pgft(groups[1], groups[2], groups[3])
	default:
		return Options{}, badNotation(notation)
	}
	if err != nil {
		return Options{}, fmt.Errorf("topology %q: %w", notation, err)
	}
	return o, nil
}

func badNotation(notation string) error {
	return fmt.Errorf("topology %q: write FT(2;M0,M1), for example FT(2;4,8): 4 server ports and spines, 8 leaves; "+
		"or FT(3;M0,M1,M2), kary(k;n), PGFT(2;m1,m2;w1,w2;p1,p2), PGFT(3;m1,m2,m3;w1,w2,w3;p1,p2,p3)%s", notation, Meant(notation))
}

var almostFT = regexp.MustCompile(`(?i)^\s*FT\W*(?:([23])\W+)?(\d+)\W+(\d+)(?:\W+(\d+))?\W*$`)

// Meant asks for the fat tree that a text with other letters or separators may stand for: FT(2,4,8) for FT(2;4,8). "":
// for none.
func Meant(text string) string {
	m := almostFT.FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	of := slices.DeleteFunc(m[2:], func(s string) bool { return s == "" })
	guess := fmt.Sprintf("FT(%d;%s)", len(of), strings.Join(of, ","))
	if _, err := Parse(guess); guess == text || err != nil || m[1] != "" && m[1] != strconv.Itoa(len(of)) {
		return ""
	}
	return "; did you mean " + guess + "?"
}

// maxLevels bounds the levels of k-ary n-trees: a tree of more has too many switches for any format
// of a network.
const maxLevels = 32

// split returns the kind of a notation, FT or PGFT, and its groups of numbers. kary(k;n) becomes
// FT(n;k,…,k).
func split(notation string) (kind string, groups [][]int, err error) {
	m := notationRE.FindStringSubmatch(strings.TrimSpace(notation))
	if m == nil {
		return "", nil, badNotation(notation)
	}
	for _, g := range strings.Split(m[2], ";") {
		numbers, err := parseNumbers(g)
		if err != nil {
			return "", nil, fmt.Errorf("topology %q: %w", notation, err)
		}
		groups = append(groups, numbers)
	}
	if !strings.EqualFold(m[1], "kary") {
		return m[1], groups, nil
	}
	if len(groups) != 2 || len(groups[0]) != 1 || len(groups[1]) != 1 {
		return "", nil, badNotation(notation)
	}
	k, n := groups[0][0], groups[1][0]
	if n > maxLevels {
		return "", nil, fmt.Errorf("topology %q: %d levels, more than %d", notation, n, maxLevels)
	}
	return "FT", [][]int{{n}, slices.Repeat([]int{k}, n)}, nil
}

// maxNumber is the largest number in a notation; products of two stay far from overflow.
const maxNumber = 1 << 16

// parseNumbers reads "4,8".
func parseNumbers(list string) ([]int, error) {
	var out []int
	for _, f := range strings.Split(list, ",") {
		if f = strings.TrimSpace(f); f == "" || strings.Trim(f, "0123456789") != "" {
			return nil, fmt.Errorf("%q is not a number", f)
		}
		n := atoi(f)
		if n < 1 || n > maxNumber {
			return nil, fmt.Errorf("number out of range: %s is not in 1..%d", f, maxNumber)
		}
		out = append(out, n)
	}
	return out, nil
}

func fatTree(m []int) Options {
	if len(m) == 2 {
		return Options{Ports: m[0], Leaves: m[1]}
	}
	return Options{Ports: m[0], Leaves: m[1] * m[2], Pods: m[2]}
}

// pairs are the switches joined by the parallel cables of a level, on three levels.
var pairs = []string{"a leaf and a middle switch", "a middle switch and a top switch"}

// pgft returns the options of PGFT(2;m;w;p) and PGFT(3;m;w;p). Numbers that equal the fat tree of
// the same m stay zero, as in fatTree.
func pgft(m, w, p []int) (Options, error) {
	o := fatTree(m)
	if w[0] != 1 || p[0] != 1 {
		return o, fmt.Errorf("w1 = %d and p1 = %d: a server has one cable, to one leaf, so both must be 1", w[0], p[0])
	}
	for i, cables := range p[1:] {
		if cables != 1 && len(m) == 3 {
			return o, fmt.Errorf("p%d = %d: plans do not allow two cables between %s, so it must be 1 (evbench topo, routes and judge do)", i+2, cables, pairs[i])
		}
	}
	if len(m) == 2 && p[1] > 1 {
		o.Cables = p[1]
	}
	if o.Spines = w[1]; o.Spines == o.Ports {
		o.Spines = 0
	}
	if len(m) == 2 {
		return o, nil
	}
	if o.Tops = w[2]; o.Tops == m[1] {
		o.Tops = 0
	}
	return o, nil
}

// ParseFill reads "4,4,3", the servers on each leaf.
func ParseFill(s string) ([]int, error) {
	var out []int
	for i, f := range strings.Split(s, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(f))
		if err != nil {
			return nil, fmt.Errorf("fill %q: entry %d, %q, is not a number", s, i, f)
		}
		out = append(out, n)
	}
	return out, nil
}

// A form is one of the names that links and switches have.
type form struct {
	re     func() *regexp.Regexp
	three  bool                                // only on three levels
	what   [2]string                           // of two levels, of three
	links  func(v *Live, n []int) []Link       // those that it stands for, if they are there; nil: several,
	stands func(v *Live, l Link, n []int) bool // which say so themselves
}

func re(s string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("^" + strings.ReplaceAll(s, "#", `(\d+)`) + "$") })
}

var forms = []form{
	{re: re("leaf#-spine#"), what: [2]string{"link", "link"}, links: func(v *Live, n []int) (out []Link) {
		for c := range v.cables {
			out = append(out, v.Cable(n[0], n[1], c))
		}
		return out
	}},
	{re: re("leaf#-spine#/#"), what: [2]string{"cable", "cable"}, links: func(v *Live, n []int) []Link {
		if n[2] >= v.cables || v.cables == 1 {
			return nil
		}
		return []Link{v.Cable(n[0], n[1], n[2])}
	}},
	{re: re("pod#-spine#-top#"), three: true, what: [2]string{1: "link"}, links: func(_ *Live, n []int) []Link {
		return []Link{{Leaf: n[0], Spine: n[1], Above: true, Top: n[2]}}
	}},
	{re: re("pod#-spine#"), three: true, what: [2]string{1: "middle switch"}, stands: func(v *Live, l Link, n []int) bool {
		return l.Spine == n[1] && (l.Above && l.Leaf == n[0] || !l.Above && v.Pod(l.Leaf) == n[0])
	}},
	{re: re("spine#-top#"), three: true, what: [2]string{1: "top switch"}, stands: func(_ *Live, l Link, n []int) bool {
		return l.Above && l.Spine == n[0] && l.Top == n[1]
	}},
	{re: re("spine#"), what: [2]string{"spine", "plane"}, stands: func(_ *Live, l Link, n []int) bool { return l.Spine == n[0] }},
}

// Links returns the links for a name, by LinkID: leaf5-spine2 one, or all where cables are
// parallel, leaf5-spine2/1 one of these, spine2 all of a spine. On three levels also:
//
//   - pod1-spine2-top3, the cable from the switch of pod 1 in plane 2 to top switch 3;
//   - pod1-spine2, a middle switch: all its cables, down and up;
//   - spine2-top3, a top switch: its cables to every pod;
//   - spine2, a plane: the cables of all its middle switches.
//
// In a tree with other names it also accepts those, and tries them first. Where parallel cables are
// missing in a network, numbers of cables beside them are refused (Countable).
func (v *Live) Links(name string) ([]Link, error) {
	if links, err := v.called(name); links != nil || err != nil {
		return links, err
	}
	if v.Ambiguous() {
		return nil, v.unknown(name)
	}
	for _, f := range forms {
		m := f.re().FindStringSubmatch(name)
		if m == nil || f.three && v.tops == 0 {
			continue
		}
		n := lists.Map(m[1:], atoi)
		var out []Link
		if f.links != nil {
			out = slices.DeleteFunc(f.links(v, n), func(l Link) bool { return !v.Has(l) })
		}
		for id := 0; f.links == nil && id < len(v.dead); id++ {
			if l := v.LinkOf(id); f.stands(v, l, n) {
				out = append(out, l)
			}
		}
		if len(out) == 0 {
			return nil, fmt.Errorf("no %s %q; %s", f.what[v.Levels()-2], name, v.choices())
		}
		if err := v.Countable(out[0]); len(out) == 1 && err != nil {
			return nil, err
		}
		return out, nil
	}
	if v.names != nil {
		return nil, v.unknown(name)
	}
	if v.tops == 0 {
		return nil, fmt.Errorf("%q is neither a link (leaf0-spine3) nor a spine (spine3); %s", name, v.choices())
	}
	return nil, fmt.Errorf("%q is none of a link (leaf5-spine2, pod1-spine2-top3), a switch (pod1-spine2, spine2-top3) and a plane (spine2); %s",
		name, v.choices())
}

// atoi reads digits. A number too large for an int becomes -1, which is no ID.
func atoi(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil {
		return -1
	}
	return n
}

// draws bounds how often Random tries before it gives up.
const draws = 10_000

// Random returns count links, drawn uniformly from the live ones by the seed such that every pair
// of servers still has a path without them. It discards draws that disconnect a pair. Fewer live
// links, or 10,000 draws that all disconnect a pair, are an error.
func (t *Tree) Random(count int, seed uint64) ([]Link, error) {
	var live [][]Link // by cable
	for id, dead := range t.dead {
		if own := t.CableOf(t.LinkOf(id)); !dead && t.LinkID(own[0]) == id {
			live = append(live, own)
		}
	}
	if count < 0 || count > len(live) {
		return nil, fmt.Errorf("%d random dead links: %s has %d live links between switches", count, t.Notation(), len(live))
	}
	rng := rand.New(rand.NewPCG(seed, 0))
	for range draws {
		rng.Shuffle(len(live), func(i, j int) { live[i], live[j] = live[j], live[i] })
		links := slices.Concat(live[:count]...)
		if v, err := t.Without(links...); err != nil {
			return nil, err
		} else if v.Connected() == nil {
			return links, nil
		}
	}
	return nil, fmt.Errorf("%d random dead links: each of %d draws cuts a pair of leaves of %s apart", count, draws, t.Notation())
}
