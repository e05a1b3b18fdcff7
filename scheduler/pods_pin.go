package scheduler

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"evbench/internal/coloring"
	"evbench/internal/parallel"
	"evbench/scheduler/schedules"
)

// pinPaths chooses a plane and a top switch for every message such that no two of a phase share a
// wire: first planes, by list colouring of the messages between leaves, then top switches on each
// plane. Where that fails, it exchanges two planes along paths of messages until it succeeds.
// Without dead links, with as many planes as servers on a leaf and as many top switches as leaves
// in a pod, it always succeeds (König, twice). An *UnroutableError proves that no paths exist only
// where a leaf or pod has too many messages.
func pinPaths(f *fabric, t *slotTable, name string, o schedules.Options) error {
	if err := assignPlanes(f, t, name, o); err != nil {
		return err
	}
	return assignTops(f, t, name, o)
}

// assignPlanes gives each message between leaves a plane for which assignTops finds top switches.
func assignPlanes(f *fabric, t *slotTable, name string, o schedules.Options) error {
	start, order := t.byPhase()
	pool := newPinners(f)
	return eachPhase(o, name, t.phases, func(p int) error {
		w := pool.Get().(*podPinner)
		defer pool.Put(w)
		w.random = rand.New(rand.NewPCG(o.Seed, uint64(p)))
		return w.phase(t, order[start[p]:start[p+1]])
	})
}

// eachPhase runs f for every phase of the schedule of that name. It returns an *UnroutableError for
// the first phase where f fails, and may then skip later phases.
func eachPhase(o schedules.Options, name string, phases int, f func(p int) error) error {
	return parallel.Try(o.Workers, phases, func(p int) error {
		err := f(p)
		if err == nil {
			return nil
		}
		_, proven := errors.AsType[*overfull](err)
		return &UnroutableError{Schedule: name, Phase: p, Proven: proven, Reason: err.Error()}
	})
}

// A podPinner is the working memory of one goroutine.
type podPinner struct {
	f      *fabric
	lists  []coloring.ColorSet
	leaf   []int32
	need   []bool
	planes coloring.Quick
	upper  coloring.Quick
	cost   []int
	random *rand.Rand

	sent  []int32 // messages between leaves, by source
	place []int32 // the edge of planes that each is
}

const (
	planeSteps = 2000 // of the search for planes of a phase
	planeTries = 1000 // exchanges of planes
	restarts   = 12   // of both, with the messages in another order
)

func (w *podPinner) phase(t *slotTable, messages []int32) error {
	w.sent = w.sent[:0]
	for _, i := range messages {
		if a, b := w.ends(t, i); a != b {
			w.sent = append(w.sent, i)
		}
	}
	w.place = w.place[:0]
	for i := range w.sent {
		w.place = append(w.place, int32(i))
	}
	var err error
	for try := range restarts {
		if err = w.try(t); err == nil {
			break
		}
		if _, hopeless := err.(*overfull); hopeless || try == restarts-1 {
			return err
		}
		w.random.Shuffle(len(w.place), func(i, j int) { w.place[i], w.place[j] = w.place[j], w.place[i] })
	}
	for i, m := range w.sent {
		t.slots[m] = makeSlot(t.slots[m].phase(), w.planes.Color(w.place[i]))
	}
	return nil
}

func (w *podPinner) ends(t *slotTable, i int32) (a, b int) {
	return int(w.leaf[int(i)/t.ranks]), int(w.leaf[int(i)%t.ranks])
}

func (w *podPinner) try(t *slotTable) error {
	at := make([]int32, len(w.place))
	for i, e := range w.place {
		at[e] = int32(i)
	}
	w.planes.Start(w.f.leaves, w.f.leaves, w.f.spines)
	for _, i := range at {
		a, b := w.ends(t, w.sent[i])
		w.planes.Add(a, b, w.lists[a*w.f.leaves+b])
	}
	if err := w.tooMany(); err != nil {
		return err
	}
	if left := w.planes.Run(planeSteps); left > 0 {
		return fmt.Errorf("%d of %d messages between leaves find no plane", left, len(at))
	}
	if k, left := w.mend(planeTries); left > 0 {
		return fmt.Errorf("%d messages between pods on plane %d find no top switch", left, k)
	}
	return nil
}

// An overfull says why no search can succeed.
type overfull struct{ reason string }

func (e *overfull) Error() string { return e.reason }

func overfullf(format string, a ...any) error { return &overfull{fmt.Sprintf(format, a...)} }

// tooMany finds the leaf or pod that sends more messages to others, or receives more, than it has
// live links upwards: the common reason why a phase does not fit.
func (w *podPinner) tooMany() error {
	leaf, pod := make([][2]int, w.f.leaves), make([][2]int, w.f.pods)
	for _, x := range w.planes.Edges() {
		leaf[x.U][0]++
		leaf[x.V][1]++
		if q, r := w.f.pod[x.U], w.f.pod[x.V]; q != r {
			pod[q][0]++
			pod[r][1]++
		}
	}
	for l, n := range leaf {
		if most := max(n[0], n[1]); most > w.f.live[l] {
			return overfullf("leaf%d has %d messages for other leaves, or from them, and %d live links", w.f.leaf[l], most, w.f.live[l])
		}
	}
	for q, n := range pod {
		links := w.f.upperLinks(q)
		if most := max(n[0], n[1]); most > links {
			return overfullf("pod%d has %d messages for other pods, or from them, and %d live links to top switches", w.f.name[q], most, links)
		}
	}
	return nil
}

// mend exchanges planes, at most tries times, until each finds its top switches. Otherwise it
// returns a plane that does not, and how many of its messages are left.
func (w *podPinner) mend(tries int) (plane, left int) {
	w.cost = w.cost[:0]
	total := 0
	for k := range w.f.spines {
		w.cost = append(w.cost, w.price(k))
		total += w.cost[k]
	}
	for try := 0; total > 0 && try < tries && w.f.spines > 1; try++ {
		k := w.costly(w.random.IntN(total))
		other := w.random.IntN(w.f.spines - 1)
		if other >= k {
			other++
		}
		total += w.swap(k, other)
	}
	for k, c := range w.cost {
		if c > 0 {
			return k, w.paint(k)
		}
	}
	return none, 0
}

// costly returns a random plane, weighted by cost.
func (w *podPinner) costly(at int) int {
	for k, c := range w.cost {
		if at < c {
			return k
		}
		at -= c
	}
	return none
}

// swap exchanges two planes along the path or cycle of a random message of the first, unless that
// raises the cost. It returns the change of cost.
func (w *podPinner) swap(k, other int) int {
	undo := w.planes.Swap(w.pick(k), other)
	if undo == nil {
		return 0
	}
	a, b := w.price(k), w.price(other)
	d := a + b - w.cost[k] - w.cost[other]
	if d > 0 {
		undo()
		return 0
	}
	w.cost[k], w.cost[other] = a, b
	return d
}

func (w *podPinner) pick(k int) int32 {
	n := len(w.planes.Edges())
	e := w.random.IntN(n)
	for w.planes.Color(int32(e)) != k {
		e = (e + 1) % n
	}
	return int32(e)
}

// price is 0 where the messages of a plane find top switches, else at least the number of those
// that do not.
func (w *podPinner) price(k int) int {
	if !w.need[k] {
		return 0
	}
	return w.paint(k)
}

// paint colours the messages between pods of a plane with its top switches, as assignTops does, and
// returns how many are left.
func (w *podPinner) paint(k int) int {
	w.upper.Start(w.f.pods, w.f.pods, w.f.tops)
	for _, e := range w.place {
		x := w.planes.Edges()[e]
		if q, r := w.f.pod[x.U], w.f.pod[x.V]; w.planes.Color(e) == k && q != r {
			w.upper.Add(q, r, w.f.shared[w.f.between(q, r, k)])
		}
	}
	return w.upper.Run(tabuSteps)
}
