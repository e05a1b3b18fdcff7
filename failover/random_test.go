package failover

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"evbench/testing/expect"
	"evbench/testing/topologytest"
	"evbench/topology"
)

// A world is links, a kernel, a planner and workers, as bad as they may be: everything takes a random time and
// fails at random, ends of links are heard late and apart, and whenever one changes routes may be lost.
type world struct {
	t    *testing.T
	rng  *rand.Rand
	o    Options
	m    *Machine
	now  time.Duration
	todo []task // by time
	log  []string

	down    [][2]bool // what is true; the machine hears of it later
	said    []End     // not heard yet
	unread  int       // events that were lost, and will be read again
	routes  routes
	writing routes // what the action under way will leave
	writes  bool
	workers []topology.Link // the dead links their plan is for
	torn    bool            // only some have it
	placed  int             // they have been told of this change and have not come to it
	held    int             // they begin nothing, and have the plan of this change at hand
	plans   map[int][]topology.Link
	failing float64 // chance
	lost    bool
	apart   bool // servers had no path when links were last read, or nobody could read them
	stopped bool
}

// routes are what is in place.
type routes struct {
	kind   kind
	id     int
	dead   []topology.Link
	holes  bool
	astray []topology.Link // some lead over these again, for one end is up
}

type task struct {
	at time.Duration
	do func()
}

func newWorld(t *testing.T, seed uint64, o Options) *world {
	w := &world{t: t, rng: rand.New(rand.NewPCG(seed, 1)), o: o, m: New(o), plans: map[int][]topology.Link{}}
	w.down = make([][2]bool, o.Tree.Leaves()*o.Tree.Spines())
	for _, l := range o.Tree.Dead() {
		w.down[o.Tree.LinkID(l)] = [2]bool{true, true}
	}
	w.routes = routes{kind: w.m.place.kind, dead: o.Tree.Dead()}
	w.workers = o.Tree.Dead()
	return w
}

func (w *world) in(most time.Duration, do func()) {
	t := task{w.now + time.Duration(w.rng.Int64N(int64(most)+1)), do}
	i, _ := slices.BinarySearchFunc(w.todo, t, func(a, b task) int { return int(a.at - b.at) })
	for i < len(w.todo) && w.todo[i].at == t.at {
		i++ // in the order they were asked for
	}
	w.todo = slices.Insert(w.todo, i, t)
}

func (w *world) fails() error {
	if w.rng.Float64() < w.failing {
		return errors.New("by chance")
	}
	return nil
}

// run lets the world go until it is quiet.
func (w *world) run() {
	for steps := 0; ; steps++ {
		if steps > 20000 {
			w.t.Fatalf("never quiet; idle %t, log ends\n%s", w.m.idle(), lines(w.log[max(0, len(w.log)-40):]))
		}
		at, wakes := w.m.Wake()
		expect.MustFalse(w.t, wakes && at <= w.now, "at %s wants to be woken at %s", w.now, at)
		switch {
		case len(w.todo) > 0 && (!wakes || w.todo[0].at <= at):
			next := w.todo[0]
			w.todo = w.todo[1:]
			w.early(next.at)
			w.now = next.at
			next.do()
		case wakes:
			w.early(at)
			w.now = at
			w.handle(Tick{})
		default:
			return
		}
	}
}

// early ticks before anything is due.
func (w *world) early(next time.Duration) {
	if next <= w.now+1 || w.rng.IntN(4) > 0 {
		return
	}
	at := w.now + 1 + time.Duration(w.rng.Int64N(int64(next-w.now-1)))
	if acts := w.m.Handle(at, Tick{}); len(acts) > 0 {
		w.t.Errorf("%s: a tick before its time asks for %s", at, format(acts))
	}
}

func (w *world) handle(events ...Event) {
	acts := w.m.Handle(w.now, events...)
	w.log = append(w.log, fmt.Sprintf("%-12s %+v -> %s", w.now, events, format(acts)))
	for _, a := range acts {
		w.check(a)
		w.begin(a)
	}
	w.aidedNow()
}

// aidedNow checks that nobody waits for a plan while routes are missing: if all has been
// heard and nothing has failed, those in place are good or being written.
func (w *world) aidedNow() {
	c := &w.m.cur
	if !w.o.Aid || w.lost || w.stopped || w.writes || len(w.said)+w.unread > 0 || c.aid.failed+c.step.failed+c.clean.failed > 0 {
		return
	}
	if !w.good() || len(topology.Minus(w.truth(), w.routes.dead)) > 0 {
		w.fault("routes %+v, dead are %v, and nobody writes", w.routes, w.truth())
	}
	if w.routes.kind == aided && disjoint(&w.m.links.without(w.routes.dead).Live) != "" && disjoint(&w.m.links.without(w.truth()).Live) == "" {
		w.fault("routes %+v, dead are only %v", w.routes, w.truth())
	}
}

// check holds an action against what the machine has promised.
func (w *world) check(a Action) {
	if w.lost || w.stopped {
		w.fault("%T after the end", a)
	}
	switch a := a.(type) {
	case Aid, Install, Clean:
		if w.writes {
			w.fault("%+v while routes are written", a)
		}
	case Hold:
		if w.placed != 0 || w.held == a.ID {
			w.fault("hold %d, held for %d, update %d under way", a.ID, w.held, w.placed)
		}
	case Update:
		if w.held != 0 && w.held != a.ID {
			w.fault("update %d, held for %d", a.ID, w.held)
		}
		if w.placed != 0 || !w.good() && len(w.said)+w.unread == 0 || w.writes || w.routes.kind != installed || w.routes.id != a.ID {
			w.fault("update %d with %+v in place, update %d under way", a.ID, w.routes, w.placed)
		}
	}
	if _, ok := a.(Clean); ok && (w.placed != 0 || !w.o.replan && w.o.Aid) {
		w.fault("clean before the switch")
	}
	if id := actionID(a); id != len(w.m.Records()) && id >= 0 {
		w.fault("%+v is not for the newest change", a)
	}
}

func (w *world) fault(form string, args ...any) {
	w.t.Helper()
	w.t.Errorf("%s: %s\n%s", w.now, fmt.Sprintf(form, args...), lines(w.log[max(0, len(w.log)-15):]))
}

func lines(s []string) string {
	var out string
	for _, l := range s {
		out += l + "\n"
	}
	return out
}

func actionID(a Action) int {
	switch a := a.(type) {
	case Aid:
		return a.ID
	case Install:
		return a.ID
	case Clean:
		return a.ID
	case MakePlan:
		return a.ID
	case Update:
		return a.ID
	case Hold:
		return cmp.Or(a.ID, -1)
	}
	return -1
}

func (w *world) begin(a Action) {
	err := w.fails()
	switch a := a.(type) {
	case Aid:
		w.write(routes{kind: aided, dead: a.Dead}, err, func() { w.handle(Aided{a.ID, 1, err}) })
	case Install:
		w.write(routes{kind: installed, id: a.ID, dead: w.plans[a.ID]}, err, func() { w.handle(Installed{a.ID, 1, err}) })
	case Clean:
		w.write(routes{kind: clean, dead: w.workers}, err, func() { w.handle(Cleaned{a.ID, 1, err}) })
	case MakePlan:
		w.plans[a.ID] = a.Dead
		w.in(10*ms, func() { w.handle(Planned{ID: a.ID, Source: Computed, Err: err}) })
	case Hold:
		w.held = a.ID
	case Update:
		w.held = 0
		w.update(a.ID, err)
	case Look:
		w.in(3*ms, func() {
			w.apart = err != nil || disjoint(&w.m.links.without(w.truth()).Live) != ""
			w.handle(Looked{w.truth(), err})
		})
	case Stop:
		if !w.apart {
			w.fault("the run ends, and there was a path: dead are only %v", w.truth())
		}
		w.stopped = true
	}
}

func (w *world) write(r routes, err error, answer func()) {
	w.writing, w.writes = r, true
	w.in(3*ms, func() {
		w.routes, w.writes = w.writing, false
		w.routes.holes = w.routes.holes || err != nil
		answer()
	})
}

func (w *world) update(id int, err error) {
	w.placed = id
	w.in(5*ms, func() {
		if err != nil {
			w.placed = 0
			w.handle(Updated{ID: id, Err: err})
			return
		}
		w.workers, w.torn = w.plans[id], false
		w.handle(Updated{ID: id, From: 1})
		w.in(20*ms, func() { w.switched(id) })
	})
}

func (w *world) switched(id int) {
	w.placed = 0
	if err := w.fails(); err != nil {
		w.torn = true
		w.handle(Updated{ID: id, Err: err})
		return
	}
	w.handle(Switched{ID: id, Switch: Switch{From: 1, LastOld: w.now, FirstNew: w.now}})
}

// turn changes an end of a link. The machine hears of it later, or, when the event is lost, still later.
func (w *world) turn(l topology.Link, leaf, up bool) {
	id, side := w.o.Tree.LinkID(l), 0
	if leaf {
		side = 1
	}
	if w.down[id][side] != up {
		return
	}
	w.down[id][side] = !up
	w.damage(&w.routes, l, up)
	w.damage(&w.writing, l, up)
	if w.rng.IntN(10) > 0 {
		w.said = append(w.said, End{Link: l, Leaf: leaf, Up: up})
		w.in(ms/2, w.hear)
		return
	}
	w.unread++
	w.in(5*ms, func() {
		w.unread--
		w.said = append(w.said, End{Link: l, Leaf: leaf, Up: !w.down[id][side], Reread: true})
		w.hear()
	})
}

// hear hands over what the ends have said and was not heard yet: the first, or all.
func (w *world) hear() {
	n := min(1, len(w.said))
	if w.rng.IntN(3) == 0 {
		n = len(w.said)
	}
	var all []Event
	for _, e := range w.said[:n] {
		all = append(all, e)
	}
	w.said = w.said[n:]
	if n > 0 {
		w.handle(all...)
	}
}

// damage is what the kernel may do when an end of a link changes. The routes of the plan
// in use, and of no other, do not name a link that it does not use.
func (w *world) damage(r *routes, l topology.Link, up bool) {
	switch {
	case r.kind == clean && slices.Contains(r.dead, l):
	case up:
		r.astray = append(r.astray, l)
	default:
		r.holes = true
	}
}

// good reports whether every route in place leads somewhere.
func (w *world) good() bool {
	lost := slices.ContainsFunc(w.routes.astray, func(l topology.Link) bool { return slices.Contains(w.truth(), l) })
	return !w.routes.holes && !lost
}

// truth returns the links that are dead.
func (w *world) truth() []topology.Link {
	var out []topology.Link
	for id, d := range w.down {
		if d[0] || d[1] {
			out = append(out, topology.Link{Leaf: id / w.o.Tree.Spines(), Spine: id % w.o.Tree.Spines()})
		}
	}
	return out
}

// script plans random events: links die and come back, by both ends or one, at random distances.
func (w *world) script() {
	n := 1 + w.rng.IntN(12)
	span := []time.Duration{5 * ms, 50 * ms, 500 * ms}[w.rng.IntN(3)]
	for range n {
		l := topology.Link{Leaf: w.rng.IntN(w.o.Tree.Leaves()), Spine: w.rng.IntN(w.o.Tree.Spines())}
		up, half := w.rng.IntN(2) == 0, w.rng.IntN(8) == 0
		w.in(span, func() {
			first := w.rng.IntN(2) == 0
			w.turn(l, first, up)
			if !half {
				w.in(ms, func() { w.turn(l, !first, up) })
			}
		})
	}
}

// final checks what is left when everything is quiet.
func (w *world) final() {
	w.t.Helper()
	m := w.m
	if !m.idle() || m.busy != nil {
		w.fault("not idle: %+v", m.busy)
	}
	for _, r := range m.Records() {
		if !r.Done {
			w.fault("record %d is not done", r.ID)
		}
	}
	if w.lost || w.stopped {
		return
	}
	if w.held != 0 {
		w.fault("workers are still held for %d", w.held)
	}
	if !slices.Equal(m.cur.dead, w.truth()) {
		w.fault("dead %v, by the machine %v", w.truth(), m.cur.dead)
	}
	if m.cur.aid.failed >= m.o.attempts || m.cur.clean.failed >= m.o.attempts {
		return // it has said so, and nothing can be put in place
	}
	want := clean
	switch given := m.cur.gaveUp || m.cur.disjoint != ""; {
	case !w.o.Aid && !w.o.replan && !slices.Equal(w.truth(), w.o.Tree.Dead()):
		return // as the kernel has left it
	case given && w.o.replan && !m.fits(), w.o.Aid && !w.o.replan:
		want = aided
	}
	if w.routes.kind != want || !w.good() || !slices.Equal(w.routes.dead, w.truth()) {
		w.fault("routes %+v, want kind %d for %v", w.routes, want, w.truth())
	}
	if want == clean && (w.torn || !slices.Equal(w.workers, w.truth())) {
		w.fault("workers have the plan for %v, want %v", w.workers, w.truth())
	}
}

// tell runs one random course of events and returns what was said.
func tell(t *testing.T, seed uint64, o Options) []string {
	w := newWorld(t, seed, o)
	w.failing = []float64{0, 0, 0.1, 0.4}[w.rng.IntN(4)]
	w.script()
	if w.rng.IntN(10) == 0 {
		w.in(60*ms, func() { w.lost = true; w.handle(WorkerLost{}) })
	}
	w.run()
	w.final()
	checkRecords(t, w.m)
	for _, r := range w.m.Records() {
		w.log = append(w.log, fmt.Sprintf("%+v", r))
	}
	return w.log
}

// options draws a policy and a tree.
func options(t *testing.T, seed uint64) Options {
	rng := rand.New(rand.NewPCG(seed, 2))
	o := topology.Options{Ports: 1 + rng.IntN(3), Leaves: 2 + rng.IntN(3)}
	tree := topologytest.Without(t, o)
	if dead, err := tree.Random(rng.IntN(2), seed); err == nil {
		tree = topologytest.Without(t, o, dead...)
	}
	policy := Policies()[rng.IntN(len(Policies()))]
	out := policy.Options(tree, 200*ms)
	out.Wait, out.attempts = rng.IntN(4) > 0, 3
	if rng.IntN(8) == 0 {
		out.Debounce = 0
	}
	return out
}

func TestRandomStories(t *testing.T) {
	n := uint64(600)
	if !expect.All() {
		n = 100
	}
	for seed := range n {
		randomScript(t, seed)
		expect.MustTrue(t, !t.Failed(), "seed %d", seed)
	}
}

func randomScript(t *testing.T, seed uint64) {
	o := options(t, seed)
	first := tell(t, seed, o)
	expect.True(t, slices.Equal(first, tell(t, seed, o)), "the same script was told in two ways")
}

func FuzzStory(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(randomScript)
}
