package pods

import (
	"fmt"
	"math/rand/v2"
	"sync"

	"evbench/internal/coloring"
	"evbench/internal/lists"
	"evbench/scheduler/internal/fattree"
	"evbench/scheduler/internal/slots"
	"evbench/scheduler/schedules"
)

// Pin chooses a plane and a top switch for every message such that no two of a phase share a
// wire: first planes, by list colouring of the messages between leaves, then top switches on each
// plane. Where that fails, it exchanges two planes along paths of messages until it succeeds.
// Without dead links, with as many planes as servers on a leaf and as many top switches as leaves
// in a pod, it always succeeds (König, twice). An *UnroutableError proves that no paths exist only
// where a leaf or pod has too many messages.
func Pin(f *fattree.Tree, t *slots.Table, name string, o schedules.Options) error {
	if err := assignPlanes(f, t, name, o); err != nil {
		return err
	}
	return assignTops(f, t, name, o)
}

// assignPlanes gives each message between leaves a plane for which assignTops finds top switches.
func assignPlanes(f *fattree.Tree, t *slots.Table, name string, o schedules.Options) error {
	start, order := t.ByPhase()
	pool := NewPinners(f)
	return eachPhase(o, name, t.Phases, func(p int) error {
		w := pool.Get().(*Pinner)
		defer pool.Put(w)
		w.random = rand.New(rand.NewPCG(o.Seed, uint64(p)))
		return w.phase(t, order[start[p]:start[p+1]])
	})
}

// A Pinner is the working memory of one goroutine.
type Pinner struct {
	f      *fattree.Tree
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

func (w *Pinner) phase(t *slots.Table, messages []int32) error {
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
		t.Slots[m] = slots.Make(t.Slots[m].Phase(), w.planes.Color(w.place[i]))
	}
	return nil
}

func (w *Pinner) ends(t *slots.Table, i int32) (a, b int) {
	return int(w.leaf[int(i)/t.Ranks]), int(w.leaf[int(i)%t.Ranks])
}

func (w *Pinner) try(t *slots.Table) error {
	at := make([]int32, len(w.place))
	for i, e := range w.place {
		at[e] = int32(i)
	}
	w.planes.Start(w.f.Leaves, w.f.Leaves, w.f.Spines)
	for _, i := range at {
		a, b := w.ends(t, w.sent[i])
		w.planes.Add(a, b, w.lists[a*w.f.Leaves+b])
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

// tooMany finds the leaf or pod that sends more messages to others, or receives more, than it has
// live links upwards: the common reason why a phase does not fit.
func (w *Pinner) tooMany() error {
	leaf, pod := make([][2]int, w.f.Leaves), make([][2]int, w.f.Pods)
	for _, x := range w.planes.Edges() {
		leaf[x.U][0]++
		leaf[x.V][1]++
		if q, r := w.f.Pod[x.U], w.f.Pod[x.V]; q != r {
			pod[q][0]++
			pod[r][1]++
		}
	}
	for l, n := range leaf {
		if most := max(n[0], n[1]); most > w.f.Live[l] {
			return overfullf("leaf%d has %d messages for other leaves, or from them, and %d live links", w.f.Leaf[l], most, w.f.Live[l])
		}
	}
	for q, n := range pod {
		links := w.f.UpperLinks(q)
		if most := max(n[0], n[1]); most > links {
			return overfullf("pod%d has %d messages for other pods, or from them, and %d live links to top switches", w.f.Name[q], most, links)
		}
	}
	return nil
}

// mend exchanges planes, at most tries times, until each finds its top switches. Otherwise it
// returns a plane that does not, and how many of its messages are left.
func (w *Pinner) mend(tries int) (plane, left int) {
	w.cost = w.cost[:0]
	total := 0
	for k := range w.f.Spines {
		w.cost = append(w.cost, w.price(k))
		total += w.cost[k]
	}
	for try := 0; total > 0 && try < tries && w.f.Spines > 1; try++ {
		k := w.costly(w.random.IntN(total))
		other := w.random.IntN(w.f.Spines - 1)
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
func (w *Pinner) costly(at int) int {
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
func (w *Pinner) swap(k, other int) int {
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

func (w *Pinner) pick(k int) int32 {
	n := len(w.planes.Edges())
	e := w.random.IntN(n)
	for w.planes.Color(int32(e)) != k {
		e = (e + 1) % n
	}
	return int32(e)
}

// price is 0 where the messages of a plane find top switches, else at least the number of those
// that do not.
func (w *Pinner) price(k int) int {
	if !w.need[k] {
		return 0
	}
	return w.paint(k)
}

// paint colours the messages between pods of a plane with its top switches, as assignTops does, and
// returns how many are left.
func (w *Pinner) paint(k int) int {
	w.upper.Start(w.f.Pods, w.f.Pods, w.f.Tops)
	for _, e := range w.place {
		x := w.planes.Edges()[e]
		if q, r := w.f.Pod[x.U], w.f.Pod[x.V]; w.planes.Color(e) == k && q != r {
			w.upper.Add(q, r, w.f.Shared[w.f.Between(q, r, k)])
		}
	}
	return w.upper.Run(tabuSteps)
}

// NewPinners returns Pinners of a tree that Part has filled in.
func NewPinners(f *fattree.Tree) *sync.Pool {
	lists, leaf, need := f.PlaneLists(), f.LeafOf(), f.Critical()
	return &sync.Pool{New: func() any { return &Pinner{f: f, lists: lists, leaf: leaf, need: need} }}
}

// repairTries is how often a repair exchanges planes for the messages of one phase. Pin tries more,
// as its messages cannot move to another phase.
const repairTries = 60

// Ways returns planes and top switches for messages between leaves of a phase, given by their leaves;
// a message that finds none has the spine none.
func (w *Pinner) Ways(ends [][2]int32, seed uint64, phase int) []slots.Way {
	w.random = rand.New(rand.NewPCG(seed, uint64(phase)))
	w.place = w.place[:0]
	w.planes.Start(w.f.Leaves, w.f.Leaves, w.f.Spines)
	for i, e := range ends {
		w.planes.Add(int(e[0]), int(e[1]), w.lists[int(e[0])*w.f.Leaves+int(e[1])])
		w.place = append(w.place, int32(i))
	}
	w.planes.Run(planeSteps)
	w.mend(repairTries)
	out := lists.Tabulate(len(ends), func(i int) slots.Way { return slots.Way{Spine: w.planes.Color(int32(i)), Top: none} })
	for k := range w.f.Spines {
		w.paint(k)
		e := int32(0)
		for i := range out {
			if x := w.planes.Edges()[i]; out[i].Spine == k && w.f.Pod[x.U] != w.f.Pod[x.V] {
				if out[i].Top = w.upper.Color(e); out[i].Top == none {
					out[i].Spine = none
				}
				e++
			}
		}
	}
	return out
}
