// Package maxmin answers: which rate has each of many streams that share wires max-min fairly, and when
// is the next one through? It is for streams that come and go all the time.
package maxmin

import (
	"math"
	"slices"
	"sort"

	"evbench/internal/heap"
)

// Shares divides wires among streams max-min fairly: a stream can get more only if a stream with no
// more than it gets less. Streams are dense numbers; each crosses up to stride wires. The order in
// which streams are added and removed affects only the last bits of a rate.
//
// A fill is water-filling. The wire with the least left for each stream without a rate is the
// bottleneck of these streams: they get that rate and leave their other wires. O(streams · stride +
// wires · log wires): what a wire has left for each stream can only rise, so a heap with old keys
// is enough.
//
// A fill repeats little of that work when few streams have come or gone. The streams of one
// bottleneck are a class, see there, and stay in it from fill to fill unless another of their wires
// has its turn before. So a turn reads one list of wires in a row, and touches a stream only when
// it changes class. A stream that goes changes nothing for streams whose bottleneck came before its
// own, and one that comes nothing for streams with less than it can get at least. So refill begins
// with the first turn that can differ; fill sometimes notes what wires had left.
type Shares struct {
	stride   int
	None     int32     // stands for no wire in path, and for no bottleneck yet
	capacity []float64 // by wire; that of none is infinite
	path     []int32   // [stream·stride + hop]
	place    []int32   // likewise: where the stream is in the members of that wire
	members  [][]int32 // streams by wire

	classes []class // by wire: of the streams for which it is the bottleneck
	of      []int32 // by stream: its class
	slot    []int32 // by stream: its place in that
	Now     float64 // the moment for which the next fill is

	// Of the last fill, by wire.
	stock []stock
	level []float64 // the rate of its class; 0: it is no bottleneck
	end   []float64 // when the first of its class is through
	turn  []int32   // later: it has had none

	heap  heap.Heap[ranked]
	guess []float64 // by wire: its level before, 0 if it was no bottleneck
	idle  []bool    // by wire: it was none, by far
	slack float64   // by how much guesses are taken for less, as a share
	order []int32   // bottlenecks by turn
	notes []note    // by turn; those beyond kept hold no more
	kept  int
	work  int // wires of streams taken off since the last note

	changes
}

// The changes are the input of the next fill.
type changes struct {
	from    int32   // the first turn that differs because of streams that have gone
	added   []int32 // streams since the last fill
	more    []int32 // by wire: how many of those
	joined  []int32 // wires of streams added since then
	parted  []int32 // and removed
	touched []int32 // wires whose end has to be worked out
	over    []int32
}

// A stock is the state of a wire during a fill.
type stock struct {
	left  float64 // of the capacity
	count int32   // streams without a rate
}

type note struct {
	turn  int32
	level float64
	stock []stock
}

// later is the turn of wires that have had none.
const later = math.MaxInt32

// New returns the shares of so many streams over wires of one capacity, in bytes a second; each stream
// crosses up to stride wires.
func New(streams, wires, stride int, capacity float64) *Shares {
	s := &Shares{
		stride: stride, None: int32(wires),
		capacity: slices.Repeat([]float64{capacity}, wires+1), place: make([]int32, streams*stride), slot: make([]int32, streams),
		members: make([][]int32, wires), classes: make([]class, wires+1), stock: make([]stock, wires+1), level: make([]float64, wires+1),
		end: slices.Repeat([]float64{math.Inf(1)}, wires+1), turn: slices.Repeat([]int32{later}, wires+1),
		guess: make([]float64, wires), idle: make([]bool, wires), slack: 0.01, changes: changes{more: make([]int32, wires+1)},
	}
	s.path, s.of = slices.Repeat([]int32{s.None}, streams*stride), slices.Repeat([]int32{s.None}, streams)
	s.capacity[wires] = math.Inf(1)
	return s
}

// SetCapacity changes the capacity of a wire, before the first fill.
func (s *Shares) SetCapacity(wire int32, capacity float64) { s.capacity[wire] = capacity }

// Wires are the wires of a stream, None after the last.
func (s *Shares) Wires(stream int32) []int32 {
	i := int(stream) * s.stride
	return s.path[i : i+s.stride : i+s.stride]
}

// Route sets the wires of a stream that is not added.
func (s *Shares) Route(stream int32, path []int32) {
	to := s.Wires(stream)
	for i := copy(to, path); i < len(to); i++ {
		to[i] = s.None
	}
}

// Rate returns the rate of a stream since the last fill.
func (s *Shares) Rate(stream int32) float64 { return s.level[s.of[stream]] }

// Add adds a stream with so many bytes to go.
func (s *Shares) Add(stream int32, bytes float64) {
	place := s.place[int(stream)*s.stride:]
	for i, w := range s.Wires(stream) {
		if w != s.None {
			place[i] = int32(len(s.members[w]))
			s.members[w] = append(s.members[w], stream)
			s.joined = append(s.joined, w)
		}
	}
	s.added = append(s.added, stream)
	s.join(stream, s.None, bytes)
}

// Remove takes a stream off.
func (s *Shares) Remove(stream int32) {
	s.from = min(s.from, s.turn[s.of[stream]])
	s.quit(stream)
	s.of[stream] = s.None
	place := s.place[int(stream)*s.stride:]
	for i, w := range s.Wires(stream) {
		if w == s.None {
			continue
		}
		s.parted = append(s.parted, w)
		m := s.members[w]
		last := m[len(m)-1]
		m[place[i]] = last
		for j, v := range s.Wires(last) {
			if v == w {
				s.place[int(last)*s.stride+j] = place[i]
			}
		}
		s.members[w] = m[:len(m)-1]
	}
}

// Refill works out all rates anew. It repeats only what streams that have come or gone can change.
func (s *Shares) Refill() {
	base, level := s.begin()
	s.slack = max(0.99*s.slack, 0.002)
	if kept := s.kept; !s.pour(level) {
		s.slack = min(1.5*s.slack, 0.5)
		base, level = s.rewind(kept - 1)
		clear(s.guess)
		clear(s.idle)
		s.rank()
		s.pour(level)
	}
	for _, w := range s.order[base:] {
		s.guess[w] = 0
		s.ends(w)
	}
	s.from = later
}

// pour gives wires their turns, from a level on. It returns false when it meets a wire that should
// have had its turn before.
func (s *Shares) pour(level float64) bool {
	for len(s.heap) > 0 {
		w := s.heap[0].wire
		x := &s.stock[w]
		if x.count == 0 {
			if s.guess[w] > 0 && x.left < -1e-8*s.capacity[w] {
				return false
			}
			s.heap.Pop()
			continue
		}
		k := x.left / float64(x.count)
		if k > s.heap[0].key*(1+1e-12) {
			s.heap[0].key = k
			s.heap.Down(0)
			continue
		}
		if s.work > 4*len(s.stock) {
			s.note(level)
		}
		s.heap.Pop()
		// Rounding must not separate equal values: equal streams end together.
		if k > level*(1+1e-9) {
			level = k
		} else if k < level*(1-1e-9) && s.guess[w] > 0 {
			return false
		}
		s.fix(w, level)
	}
	return s.spared()
}

// spared checks the wires that are no bottleneck, and reports whether it passed one over by
// mistake. It notes wires with so much left that the next fill need not give them a turn either.
func (s *Shares) spared() bool {
	for w := range s.idle {
		x, all := &s.stock[w], s.capacity[w]
		if s.idle[w] && (x.count > 0 || x.left < -1e-8*all) {
			return false
		}
		s.idle[w] = s.turn[w] == later && x.left > s.slack*all
	}
	return true
}

// begin goes back to the last valid note, and returns its turn and the rate reached.
func (s *Shares) begin() (base int, level float64) {
	from := min(s.from, s.first())
	i := s.kept - 1
	for i >= 0 && s.notes[i].turn > from {
		i--
	}
	s.amend(i)
	base, level = s.rewind(i)
	for _, w := range s.joined { // nothing is known of these
		s.guess[w], s.idle[w] = 0, false
	}
	s.joined, s.parted = s.joined[:0], s.parted[:0]
	s.rank()
	return base, level
}

func (s *Shares) rewind(i int) (base int, level float64) {
	s.kept, s.work = i+1, 0
	if i >= 0 {
		base, level = int(s.notes[i].turn), s.notes[i].level
		copy(s.stock, s.notes[i].stock)
	} else {
		for w, m := range s.members {
			s.stock[w] = stock{left: s.capacity[w], count: int32(len(m))}
		}
	}
	s.stock[s.None] = stock{left: math.Inf(1)}
	for _, w := range s.order[base:] {
		s.settle(w)
		s.guess[w] = s.level[w]
		s.level[w], s.turn[w], s.end[w] = 0, later, math.Inf(1)
	}
	s.order = s.order[:base]
	return base, level
}

// rank puts all wires that have streams without a rate into the heap. The key is the share for each
// stream or, if larger, a little less than the level before. If that makes a wire have its turn too
// late, pour detects it.
func (s *Shares) rank() {
	s.heap = s.heap[:0]
	for w := range s.members {
		if x := &s.stock[w]; x.count > 0 && !s.idle[w] {
			k := max(x.left/float64(x.count), s.guess[w]*(1-s.slack))
			s.heap = append(s.heap, ranked{k, int32(w)})
		}
	}
	for i := len(s.heap)/2 - 1; i >= 0; i-- {
		s.heap.Down(i)
	}
}

// first returns the first turn that can differ because of new streams: they take nothing from
// streams that have less than they will get. Each of k new streams gets on a wire at least c/(c+k)
// of what the c streams of its class have; on a wire that is no bottleneck, a k-th of what is left;
// and in any case as much as if all had the same.
func (s *Shares) first() int32 {
	for _, m := range s.added {
		for _, w := range s.Wires(m) {
			s.more[w]++
		}
	}
	least := math.Inf(1)
	for _, m := range s.added {
		for _, w := range s.Wires(m) {
			k := float64(s.more[w])
			if w == s.None || k == 0 {
				continue
			}
			s.more[w] = 0
			x := s.stock[w].left / k
			if s.level[w] > 0 {
				c := float64(len(s.classes[w].stream))
				x = s.level[w] * c / (c + k)
			}
			least = min(least, max(x, s.capacity[w]/float64(max(1, len(s.members[w])))))
		}
	}
	s.more[s.None] = 0
	s.added = s.added[:0]
	least *= 1 - 1e-8
	return int32(sort.Search(len(s.order), func(i int) bool { return s.level[s.order[i]] >= least }))
}

func (s *Shares) amend(last int) {
	for i := range last + 1 {
		for _, w := range s.joined {
			s.notes[i].stock[w].count++
		}
		for _, w := range s.parted {
			s.notes[i].stock[w].count--
		}
	}
}

func (s *Shares) note(level float64) {
	if s.kept == len(s.notes) {
		s.notes = append(s.notes, note{stock: make([]stock, len(s.stock))})
	}
	n := &s.notes[s.kept]
	n.turn, n.level = int32(len(s.order)), level
	copy(n.stock, s.stock)
	s.kept++
	s.work = 0
}

// fix gives a rate to the streams of a wire without a rate: those of its class the last time, and
// some of a class that has not had its turn.
func (s *Shares) fix(w int32, rate float64) {
	c := &s.classes[w]
	if n := int(s.stock[w].count); n != len(c.stream) {
		for _, m := range s.members[w] {
			if v := s.of[m]; v != w && s.turn[v] == later {
				s.move(m, w)
			}
		}
	}
	stocks := s.stock
	for _, v := range c.other {
		x := &stocks[v]
		x.left -= rate
		x.count--
	}
	s.work += len(c.other)
	x := &stocks[w]
	x.left -= rate * float64(x.count)
	x.count = 0
	s.level[w], s.turn[w] = rate, int32(len(s.order))
	s.order = append(s.order, w)
}

// A ranked wire is in the heap with a key that is at most its share for each stream.
type ranked struct {
	key  float64
	wire int32
}

// Before orders wires.
func (a ranked) Before(b ranked) bool {
	return a.key < b.key || a.key == b.key && a.wire < b.wire
}
