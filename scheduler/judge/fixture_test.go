package judge_test

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"evbench/scheduler/judge"
	"evbench/testing/expect"
	"evbench/testing/topologytest"
	"evbench/topology"
)

// A draft is a plan that a test makes, damages and writes down. It knows nothing
// of the packages that make real plans.
type draft struct {
	kind     string // how it was made: shift, late, partial, dead
	tree     *topology.Tree
	cut      [][2]int // pairs of leaves left out and listed
	routing  string
	phases   int      // stated
	bound    string   // stated, "38 leaf0"; "" states none
	hash     string   // stated; "" states the right one, "none" states none
	messages [][5]int // phase, src, dst, spine, top; -1: none
}

func (d *draft) clone() *draft {
	c := *d
	c.messages = slices.Clone(d.messages)
	return &c
}

func (d *draft) leaf(position int) int { return position / d.tree.Ports() }

// inside reports whether a message stays on its leaf.
func (d *draft) inside(m [5]int) bool { return d.leaf(m[1]) == d.leaf(m[2]) }

// state fills in true claims.
func (d *draft) state() *draft {
	seen := map[int]bool{}
	for _, m := range d.messages {
		seen[m[0]] = true
	}
	d.phases = len(seen)
	best, label := 0, "server"
	raise := func(n int, by string) {
		if n > best {
			best, label = n, by
		}
	}
	for l := range d.tree.Leaves() {
		if d.tree.ServersOn(l) > 0 {
			raise(d.tree.ServersOn(l)-1+d.partners(l), "server")
		}
	}
	for l := range d.tree.Leaves() {
		if out, live := d.tree.ServersOn(l)*d.partners(l), len(d.tree.AliveSpines(l)); out > 0 {
			raise((out+live-1)/live, fmt.Sprintf("leaf%d", l))
		}
	}
	for p := range d.tree.Pods() {
		if out, live := d.leaving(p), d.liveTops(p); out > 0 {
			raise((out+live-1)/live, fmt.Sprintf("pod%d", p))
		}
	}
	d.bound = fmt.Sprintf("%d %s", best, label)
	return d
}

// partners counts the servers on other leaves that a leaf has messages with.
func (d *draft) partners(l int) (n int) {
	for b := range d.tree.Leaves() {
		if b != l && !d.isCut(l, b) {
			n += d.tree.ServersOn(b)
		}
	}
	return n
}

func (d *draft) isCut(a, b int) bool {
	return slices.Contains(d.cut, [2]int{min(a, b), max(a, b)})
}

func (d *draft) leaving(pod int) (n int) {
	for a := range d.tree.Leaves() {
		for b := range d.tree.Leaves() {
			if d.tree.Pod(a) == pod && d.tree.Pod(b) != pod && !d.isCut(a, b) {
				n += d.tree.ServersOn(a) * d.tree.ServersOn(b)
			}
		}
	}
	return n
}

func (d *draft) liveTops(pod int) (n int) {
	for k := range d.tree.Spines() {
		for top := range d.tree.Tops() {
			if d.tree.TopAlive(pod, k, top) {
				n++
			}
		}
	}
	return n
}

// shift is the linear shift with spine = destination mod M0, which no wire
// carries twice on a full and healthy tree.
func shift(t testing.TB, m0, m1 int) *draft {
	d := &draft{kind: "shift", routing: "pinned", tree: topologytest.Without(t, topology.Options{Ports: m0, Leaves: m1})}
	s := m0 * m1
	for p := 1; p < s; p++ {
		for src := range s {
			m := [5]int{p - 1, src, (src + p) % s, ((src + p) % s) % m0, -1}
			if d.inside(m) {
				m[3] = -1
			}
			d.messages = append(d.messages, m)
		}
	}
	return d.state()
}

// greedy puts the messages, in the order of the linear shift, each into the
// first phase and path that is free. What has no path is left out and listed.
func greedy(kind string, tr *topology.Tree) *draft {
	return (&draft{kind: kind, routing: "pinned", tree: tr}).greedy()
}

func (d *draft) greedy() *draft {
	busy := map[[4]int]bool{} // phase, wire class and wire
	s := d.tree.Servers()
	for p := 1; p < s; p++ {
		for src := range s {
			d.place(busy, src, (src+p)%s)
		}
	}
	return d.state()
}

// paths returns the live paths between two leaves: spine and top.
func (d *draft) paths(a, b int) (out [][2]int) {
	if a == b {
		return [][2]int{{-1, -1}}
	}
	for _, k := range d.tree.CommonSpines(a, b) {
		if d.tree.Levels() == 2 || d.tree.Pod(a) == d.tree.Pod(b) {
			out = append(out, [2]int{k, -1})
			continue
		}
		for top := range d.tree.Tops() {
			if d.tree.TopAlive(d.tree.Pod(a), k, top) && d.tree.TopAlive(d.tree.Pod(b), k, top) {
				out = append(out, [2]int{k, top})
			}
		}
	}
	return out
}

func (d *draft) place(busy map[[4]int]bool, src, dst int) {
	a, b := d.tree.Leaf(src), d.tree.Leaf(dst)
	paths := d.paths(a, b)
	if len(paths) == 0 {
		if !d.isCut(a, b) {
			d.cut = append(d.cut, [2]int{min(a, b), max(a, b)})
		}
		return
	}
	for phase := 0; ; phase++ {
		for _, path := range paths {
			keys := [][4]int{{phase, 0, src}, {phase, 1, dst}}
			if k := path[0]; k >= 0 {
				keys = append(keys, [4]int{phase, 2, a, k}, [4]int{phase, 3, b, k})
			}
			if top := path[1]; top >= 0 {
				n := path[0]*d.tree.Tops() + top
				keys = append(keys, [4]int{phase, 4 + d.tree.Pod(a), 0, n}, [4]int{phase, 4 + d.tree.Pod(b), 1, n})
			}
			if slices.ContainsFunc(keys, func(x [4]int) bool { return busy[x] }) {
				continue
			}
			for _, x := range keys {
				busy[x] = true
			}
			d.messages = append(d.messages, [5]int{phase, d.tree.Position(src), d.tree.Position(dst), path[0], path[1]})
			return
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
		out = append(out, greedy("partial", topologytest.Without(t, topology.Options{Ports: m0, Leaves: m1, Spines: m0 + 1, Fill: fill})))
	}
	if m0 > 1 && m1 > 1 {
		healthy := topologytest.Without(t, topology.Options{Ports: m0, Leaves: m1})
		out = append(out, greedy("dead", topologytest.Without(t, topology.Options{Ports: m0, Leaves: m1}, topology.Link{})))
		dead := expect.Value(healthy.Random(min(m1, m0*m1/4+1), uint64(m0*10+m1)))(t)
		out = append(out, greedy("dead", topologytest.Without(t, topology.Options{Ports: m0, Leaves: m1}, dead...)))
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
	if d.tree.Spines() != d.tree.Ports() && d.tree.Levels() == 2 {
		spines = fmt.Sprintf("# spines %d\n", d.tree.Spines())
	}
	return fmt.Sprintf("# topology %s\n# fill %s\n%s# down %s\n", d.tree.Notation(), strings.Join(fill, ","), spines, down)
}

// cutNames lists the pairs left out, "leaf0-leaf3".
func (d *draft) cutNames() (out []string) {
	for _, p := range d.cut {
		out = append(out, fmt.Sprintf("leaf%d-leaf%d", p[0], p[1]))
	}
	return out
}

func (d *draft) body() string {
	ms := slices.Clone(d.messages)
	slices.SortFunc(ms, func(a, b [5]int) int { return slices.Compare(a[:], b[:]) })
	var b strings.Builder
	for _, m := range ms {
		path := "-"
		if m[3] >= 0 {
			if path = strconv.Itoa(m[3]); m[4] >= 0 {
				path += "." + strconv.Itoa(m[4])
			}
		}
		fmt.Fprintln(&b, m[0], m[1], m[2], path)
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
	s := "# evbench plan 1\n" + d.fabric()
	if len(d.cut) > 0 {
		s += "# unreachable " + strings.Join(d.cutNames(), ",") + "\n"
	}
	s += "# schedule test\n# routing " + d.routing + "\n"
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

func judged(t testing.TB, text string, o judge.Options) *judge.Report {
	t.Helper()
	f, err := judge.Read(strings.NewReader(text))
	expect.MustTrue(t, err == nil, "%v\n%s", err, text)
	return judge.Check(f, o)
}

// shuffled returns the indices of a draft's messages in an order of its own, so
// that damage does not always hit the first.
func (d *draft) shuffled(seed uint64) []int {
	return rand.New(rand.NewPCG(seed, 7)).Perm(len(d.messages))
}
