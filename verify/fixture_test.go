package verify_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"evbench/topology"
	"evbench/verify"
)

// A draft is a plan that a test makes, damages and writes down. It knows nothing
// of the packages that make real plans.
type draft struct {
	kind     string // how it was made: shift, late, partial, dead
	tree     *topology.Tree
	routing  string
	phases   int    // stated
	bound    string // stated, "38 leaf0"; "" states none
	hash     string // stated; "" states the right one, "none" states none
	messages [][4]int
}

func (d *draft) clone() *draft {
	c := *d
	c.messages = slices.Clone(d.messages)
	return &c
}

func tree(t testing.TB, o topology.Options, dead ...topology.Link) *topology.Tree {
	t.Helper()
	tr, err := topology.New(o)
	if err != nil {
		t.Fatal(err)
	}
	if tr, err = tr.Without(dead...); err != nil {
		t.Fatal(err)
	}
	return tr
}

func (d *draft) leaf(position int) int { return position / d.tree.Ports() }

// inside reports whether a message stays on its leaf.
func (d *draft) inside(m [4]int) bool { return d.leaf(m[1]) == d.leaf(m[2]) }

// state fills in true claims.
func (d *draft) state() *draft {
	seen := map[int]bool{}
	for _, m := range d.messages {
		seen[m[0]] = true
	}
	d.phases = len(seen)
	s := d.tree.Servers()
	best, label := s-1, "server"
	for l := range d.tree.Leaves() {
		out, live := d.tree.On(l)*(s-d.tree.On(l)), len(d.tree.AliveSpines(l))
		if out > 0 && (out+live-1)/live > best {
			best, label = (out+live-1)/live, fmt.Sprintf("leaf%d", l)
		}
	}
	d.bound = fmt.Sprintf("%d %s", best, label)
	return d
}

// shift is the linear shift with spine = destination mod M0, which no wire
// carries twice on a full and healthy tree.
func shift(t testing.TB, m0, m1 int) *draft {
	d := &draft{kind: "shift", routing: "pinned", tree: tree(t, topology.Options{Ports: m0, Leaves: m1})}
	s := m0 * m1
	for p := 1; p < s; p++ {
		for src := range s {
			m := [4]int{p - 1, src, (src + p) % s, ((src + p) % s) % m0}
			if d.inside(m) {
				m[3] = -1
			}
			d.messages = append(d.messages, m)
		}
	}
	return d.state()
}

// greedy puts the messages, in the order of the linear shift, each into the
// first phase and spine that is free.
func greedy(kind string, tr *topology.Tree) *draft {
	d := &draft{kind: kind, routing: "pinned", tree: tr}
	busy := map[[3]int]bool{} // phase, wire class and wire
	s := tr.Servers()
	for p := 1; p < s; p++ {
		for src := range s {
			d.messages = append(d.messages, place(tr, busy, src, (src+p)%s))
		}
	}
	return d.state()
}

func place(tr *topology.Tree, busy map[[3]int]bool, src, dst int) [4]int {
	a, b := tr.Leaf(src), tr.Leaf(dst)
	spines := []int{-1}
	if a != b {
		spines = tr.CommonSpines(a, b)
	}
	for phase := 0; ; phase++ {
		for _, k := range spines {
			keys := [][3]int{{phase, 0, src}, {phase, 1, dst}}
			if k >= 0 {
				keys = append(keys, [3]int{phase, 2, a*tr.Spines() + k}, [3]int{phase, 3, b*tr.Spines() + k})
			}
			if slices.ContainsFunc(keys, func(x [3]int) bool { return busy[x] }) {
				continue
			}
			for _, x := range keys {
				busy[x] = true
			}
			return [4]int{phase, tr.Position(src), tr.Position(dst), k}
		}
	}
}

// late is the shift with one message in a phase of its own at the end, so that
// two servers idle once.
func late(t testing.TB, m0, m1 int) *draft {
	d := shift(t, m0, m1)
	d.kind = "late"
	d.messages[0][0] = d.phases
	return d.state()
}

// drafts returns valid plans of one shape: full and healthy, partly filled with
// a spine more, and with dead links, as far as the shape has them.
func drafts(t testing.TB, m0, m1 int) []*draft {
	out := []*draft{shift(t, m0, m1)}
	if m0*m1 > 2 {
		out = append(out, late(t, m0, m1))
		fill := slices.Repeat([]int{m0}, m1)
		fill[m1-1]--
		out = append(out, greedy("partial", tree(t, topology.Options{Ports: m0, Leaves: m1, Spines: m0 + 1, Fill: fill})))
	}
	if m0 > 1 && m1 > 1 {
		healthy := tree(t, topology.Options{Ports: m0, Leaves: m1})
		out = append(out, greedy("dead", tree(t, topology.Options{Ports: m0, Leaves: m1}, topology.Link{})))
		dead, err := healthy.Random(min(m1, m0*m1/4+1), uint64(m0*10+m1))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, greedy("dead", tree(t, topology.Options{Ports: m0, Leaves: m1}, dead...)))
	}
	return out
}

// shapes calls f for every M0, M1 <= 5 with at least two servers.
func shapes(f func(m0, m1 int)) {
	for m0 := 1; m0 <= 5; m0++ {
		for m1 := 1; m1 <= 5; m1++ {
			if m0*m1 > 1 {
				f(m0, m1)
			}
		}
	}
}

func (d *draft) fabric() string {
	var fill []string
	for _, n := range d.tree.Fill() {
		fill = append(fill, fmt.Sprint(n))
	}
	down := strings.Join(d.tree.DownNames(), ",")
	if down == "" {
		down = "none"
	}
	spines := ""
	if d.tree.Spines() != d.tree.Ports() {
		spines = fmt.Sprintf("# spines %d\n", d.tree.Spines())
	}
	return fmt.Sprintf("# topology %s\n# fill %s\n%s# down %s\n", d.tree.Notation(), strings.Join(fill, ","), spines, down)
}

func (d *draft) body() string {
	ms := slices.Clone(d.messages)
	slices.SortFunc(ms, func(a, b [4]int) int { return slices.Compare(a[:], b[:]) })
	var b strings.Builder
	for _, m := range ms {
		for c, n := range m {
			if n < 0 {
				b.WriteString("-")
			} else {
				b.WriteString(strconv.Itoa(n))
			}
			b.WriteByte(" \n"[c/3])
		}
	}
	return b.String()
}

func (d *draft) stated() string {
	if d.hash != "" {
		return d.hash
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(d.fabric()+d.body())))
}

func (d *draft) text() string {
	s := "# evbench plan 1\n" + d.fabric() + "# schedule test\n# routing " + d.routing + "\n"
	if d.phases > 0 {
		s += fmt.Sprintf("# phases %d\n", d.phases)
	}
	if d.bound != "" {
		s += "# bound " + d.bound + "\n"
	}
	if h := d.stated(); h != "none" {
		s += "# hash " + h + "\n"
	}
	return s + d.body()
}

func (d *draft) json(t testing.TB) string {
	t.Helper()
	doc := map[string]any{
		"schema": "evbench/plan/1", "topology": d.tree.Notation(), "fill": d.tree.Fill(), "spines": d.tree.Spines(),
		"down": d.tree.DownNames(), "schedule": "test", "routing": d.routing, "phases": d.phases,
		"hash": d.stated(), "messages": d.messages,
	}
	if n, kind := 0, ""; d.bound != "" {
		fmt.Sscan(d.bound, &n, &kind)
		doc["bound"] = map[string]any{"phases": n, "kind": kind}
	}
	out, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func judge(t testing.TB, text string, o verify.Options) *verify.Report {
	t.Helper()
	f, err := verify.Read(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return verify.Check(f, o)
}

// shuffled returns the indices of a draft's messages in an order of its own, so
// that damage does not always hit the first.
func (d *draft) shuffled(seed uint64) []int {
	return rand.New(rand.NewPCG(seed, 7)).Perm(len(d.messages))
}
