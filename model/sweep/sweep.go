// Package sweep computes the items of a long list: all of them, or one shard of N. A journal keeps
// finished items, so that a sweep continues after a kill, and Merge combines the journals of all
// shards. The assignment of items to shards depends only on the list.
package sweep

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"evbench/internal/answer"
	"evbench/internal/atomicfile"
	"evbench/internal/parallel"
	"evbench/internal/proc"
)

// A Shard is one part of a sweep, I of N, from 1. The zero value is the whole sweep.
type Shard struct{ I, N int }

// mostShards bounds N, so that dealing a billion shards cannot block.
const mostShards = 1_000_000

// ParseShard reads I/N, such as 3/8.
func ParseShard(text string) (s Shard, err error) {
	i, n, ok := strings.Cut(text, "/")
	if s.I, err = strconv.Atoi(i); err == nil && ok {
		s.N, err = strconv.Atoi(n)
	}
	if !ok || err != nil || s.N < 1 || s.N > mostShards || s.I < 1 || s.I > s.N {
		return Shard{}, fmt.Errorf("shard %q: write I/N, from 1/N to N/N, N at most %d", text, mostShards)
	}
	return s, nil
}

func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.I, s.N) }

// Deal returns the items 0..n-1 of a shard, rising. Without costs they are dealt in turn. With
// costs each item, the most expensive first, goes to the shard with the least work so far (longest
// processing time first, Graham 1969).
func (s Shard) Deal(n int, cost func(item int) float64) []int {
	items := make([]int, 0, n/max(1, s.N)+1)
	if s.N <= 1 || cost == nil {
		for i := max(0, s.I-1); i < n; i += max(1, s.N) {
			items = append(items, i)
		}
		return items
	}
	dearest, costs := make([]int, n), make([]float64, n)
	for i := range n {
		dearest[i], costs[i] = i, cost(i)
	}
	slices.SortStableFunc(dearest, func(a, b int) int { return cmp.Compare(costs[b], costs[a]) })
	work := make([]float64, min(s.N, n)) // shards beyond n have no item
	for _, i := range dearest {
		least := slices.Index(work, slices.Min(work))
		work[least] += costs[i]
		if least == s.I-1 {
			items = append(items, i)
		}
	}
	slices.Sort(items)
	return items
}

// A Sweep selects the items to compute, and the place for the results. The zero value, and nil,
// mean all items and no journal.
type Sweep struct {
	Shard Shard
	Kept  Keeper
	// Progress, if set, gets the number of finished items of this shard; calls do not overlap.
	Progress func(done, total int)
}

// Whole reports whether the sweep covers all items.
func (s *Sweep) Whole() bool { return s == nil || s.Shard.N <= 1 }

// Keeps reports whether results outlive the process.
func (s *Sweep) Keeps() bool { return s != nil && s.Kept != nil }

// A Keeper stores results: *Journal, or *Merged for reading only.
type Keeper interface {
	// Load opens the journal of a sweep of n items, own of them in this shard, and passes each
	// stored result to take.
	Load(n, own int, take func(item int, value []byte) error) error
	// Add stores one more result.
	Add(item int, value []byte) error
}

// A Part is the error of a finished shard: the whole needs the others.
type Part struct {
	Shard Shard
	Items int // of the shard, all done
	Of    int // of the sweep
}

func (p *Part) Error() string {
	return fmt.Sprintf("shard %s: %d of %d items, which is not a whole sweep", p.Shard, p.Items, p.Of)
}

// Items are the items 0..N-1 of a sweep. T must survive writing and reading as JSON.
type Items[T any] struct {
	N int
	// Cost estimates the work on an item, in any unit, from data that all shards have. nil: all
	// alike.
	Cost func(item int) float64
	// Workers is how many items are computed at once. 0 means GOMAXPROCS.
	Workers int
	Work    func(ctx context.Context, item int) (T, error)
	// Put takes results, in any order; calls do not overlap. With several shards it is never
	// called: the results are in the journal.
	Put func(item int, result T) error
	// Leave abandons items under way when ctx ends; their results are dropped. Otherwise Work must
	// end with ctx.
	Leave bool
}

// Run computes the items of this shard that are not stored yet. It returns the error of the lowest
// item that fails, of ctx, or a *Part if the shard is done and others are missing.
func Run[T any](ctx context.Context, s *Sweep, x Items[T]) error {
	if s == nil {
		s = &Sweep{}
	}
	r := &run[T]{Items: x, sweep: s}
	todo, err := r.load()
	if err == nil {
		err = r.all(ctx, todo)
	}
	if err == nil && !s.Whole() {
		err = &Part{s.Shard, r.total, x.N}
	}
	return err
}

type run[T any] struct {
	Items[T]
	sweep *Sweep
	total int // of the shard

	mu    sync.Mutex // guards the fields below, the keeper, and calls of Put and Progress
	done  int
	ended bool // later results are dropped
}

// load takes the stored results, and returns the items to compute.
func (r *run[T]) load() ([]int, error) {
	todo := r.sweep.Shard.Deal(r.N, r.Cost)
	r.total = len(todo)
	if r.sweep.Kept == nil {
		return todo, nil
	}
	known := make([]bool, r.N)
	err := r.sweep.Kept.Load(r.N, r.total, func(item int, value []byte) error {
		if _, own := slices.BinarySearch(todo, item); !own {
			return fmt.Errorf("item %d is not one of shard %s", item, r.sweep.Shard)
		}
		known[item] = true
		if !r.sweep.Whole() {
			return nil
		}
		var result T
		if err := json.Unmarshal(value, &result); err != nil {
			return fmt.Errorf("item %d: %w", item, err)
		}
		return r.Put(item, result)
	})
	todo = slices.DeleteFunc(todo, func(i int) bool { return known[i] })
	r.done = r.total - len(todo)
	return todo, err
}

func (r *run[T]) all(ctx context.Context, todo []int) error {
	work := func() error {
		return parallel.Try(r.Workers, len(todo), func(k int) error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			result, err := r.Work(ctx, todo[k])
			if err != nil {
				return err
			}
			return r.finish(todo[k], result)
		})
	}
	if !r.Leave {
		return work()
	}
	done := make(chan error, 1)
	go func() { done <- work() }()
	var err error
	select {
	case err = <-done:
	case <-ctx.Done():
		err = ctx.Err()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	return err
}

func (r *run[T]) finish(item int, result T) error {
	var value []byte
	if r.sweep.Kept != nil {
		var err error
		if value, err = json.Marshal(result); err != nil {
			return fmt.Errorf("item %d: %w", item, err)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return nil
	}
	if value != nil {
		if err := r.sweep.Kept.Add(item, value); err != nil {
			return err
		}
	}
	if r.sweep.Whole() {
		if err := r.Put(item, result); err != nil {
			return err
		}
	}
	r.done++
	if r.sweep.Progress != nil {
		r.sweep.Progress(r.done, r.total)
	}
	return nil
}

// Answer says that the shard is done, and what to do with its journal.
func (p *Part) Answer(journal string) answer.Answer {
	return answer.Decide(answer.Shard.About(p.Shard), answer.Evidence{
		Findings: []answer.Finding{{Text: fmt.Sprintf("shard %s is done: %d of the %d items are in %s", p.Shard, p.Items, p.Of, journal), Place: answer.At}},
		Why:      []string{fmt.Sprintf("evbench merge prints the whole from the journals of all %d shards", p.Shard.N)},
	})
}

// Merged is the journals of all shards of a sweep, for reading.
type Merged struct {
	Header Header // of the first; its Shard and Own are meaningless here
	names  []string
	now    *Header
}

// Merge reads the journals of all shards of one sweep. It refuses, by name, journals of another
// sweep, a shard that is repeated or missing, and an unfinished one. anyBuild takes journals of several builds of one
// commit.
func Merge(names []string, anyBuild bool) (*Merged, error) {
	if len(names) == 0 {
		return nil, errors.New("no journal is named")
	}
	m := &Merged{names: names}
	by := map[Shard]string{}
	var seen []bool
	var unfinished []error
	for _, name := range names {
		var shard Shard
		var head Header
		done := 0
		err := m.read(name, func(h *Header) (err error) {
			head = *h
			if shard, err = ParseShard(h.Shard); err != nil {
				return err
			}
			if len(by) == 0 {
				m.Header, seen = *h, make([]bool, max(0, h.Items))
				m.Header.AnyBuild = anyBuild
			}
			if why := h.differs(&m.Header); why != "" {
				return fmt.Errorf("belongs to another sweep than %s: %s", names[0], why)
			}
			for first, other := range by {
				if first.N != shard.N {
					return fmt.Errorf("shard %s, and %s is shard %s", shard, other, first)
				}
			}
			if other, ok := by[shard]; ok {
				return fmt.Errorf("shard %s, which %s is, too", shard, other)
			}
			by[shard] = name
			return nil
		}, func(item int, _ []byte) error {
			if item < 0 || item >= len(seen) || seen[item] {
				return fmt.Errorf("item %d is not one of shard %s", item, shard)
			}
			seen[item] = true
			done++
			return nil
		})
		if err != nil {
			return nil, err
		}
		if done < head.Own {
			unfinished = append(unfinished, fmt.Errorf("%s: shard %s has %d of its %d items: start it again; it resumes", name, shard, done, head.Own))
		}
	}
	return m, errors.Join(missing(by), errors.Join(unfinished...), incomplete(seen, by, unfinished))
}

// missing names the missing shards, the first ten of them.
func missing(by map[Shard]string) error {
	n := 0
	for s := range by {
		n = s.N
	}
	var names []string
	for i := range n {
		if s := (Shard{i + 1, n}); by[s] == "" {
			names = append(names, s.String())
		}
	}
	if len(names) == 0 {
		return nil
	}
	more := ""
	if len(names) > 10 {
		more, names = fmt.Sprintf(" and %d more", len(names)-10), names[:10]
	}
	return fmt.Errorf("no journal of shard %s%s", strings.Join(names, ", "), more)
}

// incomplete compares the items of all shards with the items of the sweep.
func incomplete(seen []bool, by map[Shard]string, unfinished []error) error {
	if len(unfinished) > 0 || missing(by) != nil {
		return nil
	}
	if i := slices.Index(seen, false); i >= 0 {
		return fmt.Errorf("item %d is in no journal", i)
	}
	return nil
}

func (m *Merged) read(name string, head func(*Header) error, take func(item int, value []byte) error) error {
	f, err := atomicfile.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := read(f, head, take); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// Expect sets the sweep that the program computes now. Journals of another one are an error; a
// different number of items is an error of Load.
func (m *Merged) Expect(now Header) error {
	now.Items, now.AnyBuild = m.Header.Items, m.Header.AnyBuild
	m.now = &now
	if why := m.Header.differs(m.now); why != "" {
		return proc.Usagef("%s: the journal belongs to another sweep: %s", m.names[0], why)
	}
	return nil
}

// Load implements Keeper.
func (m *Merged) Load(n, _ int, take func(item int, value []byte) error) error {
	m.now.Items = n
	for _, name := range m.names {
		err := m.read(name, func(h *Header) error {
			if why := h.differs(m.now); why != "" {
				return fmt.Errorf("the journal belongs to another sweep: %s", why)
			}
			return nil
		}, take)
		if err != nil {
			return err
		}
	}
	return nil
}

// Add fails: merged journals are not changed.
func (m *Merged) Add(item int, _ []byte) error {
	return fmt.Errorf("item %d is in none of %s", item, strings.Join(m.names, ", "))
}
