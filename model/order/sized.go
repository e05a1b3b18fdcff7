package order

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"fmt"
	"io"
	"math"
	"slices"

	"evbench/internal/answer"
	"evbench/internal/heap"
	"evbench/internal/show"
	"evbench/plan"
	"evbench/plan/promise"
	"evbench/scheduler/order"
	"evbench/site/lft"
)

// A Sized plan says when each fragment of an exchange starts whose sizes differ, such that no link has more of them
// at a time than it has room for. There are no phases. Times are byte times: what a byte takes at the rate of a
// message.
type Sized struct {
	*Plan
	Bytes []int64 // by src·hosts + dst; 0: none
	Start []int64
	Time  int64
	Least int64 // no order over these tables takes less, by the witness Bound.Link

	links [][]int32 // that each fragment passes
	took  []int64   // how long each fragment takes
	ranks int64     // what the order of ranks takes
}

// MakeSized follows the tables for all fragments that have bytes, and takes the shortest of three list schedules: a
// host that is free sends the first of its fragments that fits, by the bytes on the fullest link of their path, by
// their own bytes, or by the phase that they have in Best; and of the phases of Best themselves, in which each fragment
// begins when all links of its path are through with the phases before (follow), which is near the least where sizes
// differ little. O(hosts³) at most but for Best.
func MakeSized(name string, t *lft.Tables, job lft.Job, bytes []int64, steps int) (*Sized, error) {
	n := len(job.Nodes)
	job.Skip = func(src, dst int) bool { return bytes[src*n+dst] == 0 }
	p, err := Follow(name, t, job)
	if err != nil {
		return nil, err
	}
	s := newSized(p, bytes)
	s.search(steps)
	return s, nil
}

// newSized is a plan without starts, with what its fragments need.
func newSized(p *Plan, bytes []int64) *Sized {
	n := p.Problem.Hosts
	s := &Sized{Plan: p, Bytes: slices.Clone(bytes), links: make([][]int32, n*n), took: make([]int64, n*n), Time: math.MaxInt64}
	for m, size := range s.Bytes {
		switch {
		case size == 0:
		case p.Meets(m/n, m%n):
			s.links[m] = append([]int32{int32(m / n), int32(n + m%n)}, s.Between(m/n, m%n)...)
		default: // not of these roles
			s.Bytes[m] = 0
		}
	}
	s.bound(s.loads())
	return s
}

// search finds the starts.
func (s *Sized) search(steps int) {
	load, phases := s.loads(), order.Best(s.Problem, -1)
	fullest := func(m int) (most float64) {
		for _, l := range s.links[m] {
			most = max(most, load[l])
		}
		return most
	}
	for _, rule := range []struct {
		made   string
		before func(a, b int) int
	}{
		{"fullest-link", func(a, b int) int {
			return cmp.Or(cmp.Compare(fullest(b), fullest(a)), cmp.Compare(s.Bytes[b], s.Bytes[a]))
		}},
		{"longest", func(a, b int) int { return cmp.Compare(s.Bytes[b], s.Bytes[a]) }},
		{"phases", func(a, b int) int { return cmp.Compare(phases.Phase[a], phases.Phase[b]) }},
	} {
		if start, time := s.list(rule.before); time < s.Time {
			s.Start, s.Time, s.Made = start, time, rule.made
		}
	}
	if s.alike() {
		phases = order.Best(s.Problem, steps)
	}
	if start, time := s.follow(phases); time < s.Time {
		s.Start, s.Time, s.Made = start, time, phases.Made
	}
}

// alike reports whether no fragment is half as large again as their mean.
func (s *Sized) alike() bool {
	most, sum, n := int64(0), 0.0, 0.0
	for _, size := range s.Bytes {
		if size > 0 {
			most, sum, n = max(most, size), sum+float64(size), n+1
		}
	}
	return float64(most)*n <= 1.5*sum
}

// follow has each fragment begin when the links of its path have room, in the order of the phases that it would have
// if all had one size; in a phase, longer ones first.
func (s *Sized) follow(phases *Schedule) (start []int64, time int64) {
	start, over := make([]int64, len(s.Bytes)), make([][]int64, len(s.Links)) // by link: when each message that it has room for is through
	for l := range over {
		over[l] = make([]int64, s.Links[l].Room)
	}
	_, in := phases.ByPhase()
	slices.SortStableFunc(in, func(a, b int32) int {
		return cmp.Or(cmp.Compare(phases.Phase[a], phases.Phase[b]), cmp.Compare(s.took[b], s.took[a]))
	})
	for _, m := range in {
		for _, l := range s.links[m] {
			start[m] = max(start[m], slices.Min(over[l]))
		}
		end := start[m] + s.took[m]
		for _, l := range s.links[m] {
			over[l][slices.Index(over[l], slices.Min(over[l]))] = end
		}
		time = max(time, end)
	}
	return start, time
}

// loads is how long each link needs for its bytes.
func (s *Sized) loads() []float64 {
	load := make([]float64, len(s.Links))
	for m, size := range s.Bytes {
		if size > 0 {
			for _, l := range s.links[m] {
				load[l] += float64(size) / s.Links[l].Rate()
			}
		}
	}
	return load
}

// bound sets the bound, its witness and the time of each fragment. load is how long each link needs for its bytes.
func (s *Sized) bound(load []float64) {
	n := s.Problem.Hosts
	phase := make([][]float64, n) // of the order of ranks, by link
	for k := range phase {
		phase[k] = make([]float64, len(s.Links))
	}
	s.Bound = order.Bound{Link: -1}
	for m, size := range s.Bytes {
		if size == 0 {
			continue
		}
		share, k := 1.0, (m%n-m/n+n)%n
		for _, l := range s.links[m] {
			share = min(share, s.Links[l].Share)
			phase[k][l] += float64(size) / s.Links[l].Rate()
		}
		s.took[m] = ceil(float64(size) / share)
		s.Least = max(s.Least, s.took[m])
		for _, l := range s.links[m] {
			phase[k][l] = max(phase[k][l], float64(s.took[m]))
		}
	}
	for _, links := range phase {
		s.ranks += ceil(slices.Max(links))
	}
	for l, x := range load {
		if time := ceil(x); time > int64(s.Bound.Time) || time == int64(s.Bound.Time) && time > 0 && l >= 2*n && s.Bound.Link < 2*n {
			s.Bound = order.Bound{Time: float64(time), Link: l}
		}
	}
	s.Least = max(s.Least, int64(s.Bound.Time))
}

func ceil(x float64) int64 { return int64(math.Ceil(x * (1 - 1e-12))) }

// An ended is a fragment that ends.
type ended struct {
	at int64
	m  int32
}

func (a ended) Before(b ended) bool { return a.at < b.at || a.at == b.at && a.m < b.m }

// list makes a list schedule: whenever fragments have ended, hosts that send nothing, those with most bytes left
// first, start the first of their fragments whose links have room.
func (s *Sized) list(before func(a, b int) int) (start []int64, time int64) {
	n := s.Problem.Hosts
	start, left := make([]int64, n*n), make([]int64, n)
	waiting, used := make([][]int, n), make([]int32, len(s.Links))
	idle := make([]int, n)
	for src := range n {
		for dst := range n {
			if m := src*n + dst; s.Bytes[m] > 0 {
				waiting[src], left[src] = append(waiting[src], m), left[src]+s.Bytes[m]
			}
		}
		slices.SortStableFunc(waiting[src], before)
		idle[src] = src
	}
	room := func(m int) bool {
		return !slices.ContainsFunc(s.links[m], func(l int32) bool { return used[l] >= s.Links[l].Room })
	}
	var ends heap.Heap[ended]
	for now := int64(0); ; {
		slices.SortStableFunc(idle, func(a, b int) int { return cmp.Or(cmp.Compare(left[b], left[a]), a-b) })
		idle = slices.DeleteFunc(idle, func(src int) bool {
			i := slices.IndexFunc(waiting[src], room)
			if i < 0 {
				return false
			}
			m := waiting[src][i]
			waiting[src] = slices.Delete(waiting[src], i, i+1)
			start[m], left[src] = now, left[src]-s.Bytes[m]
			for _, l := range s.links[m] {
				used[l]++
			}
			ends.Push(ended{now + s.took[m], int32(m)})
			return true
		})
		if len(ends) == 0 {
			return start, now
		}
		for now = ends[0].at; len(ends) > 0 && ends[0].at == now; {
			m := int(ends[0].m)
			ends.Pop()
			for _, l := range s.links[m] {
				used[l]--
			}
			idle = append(idle, m/n)
		}
	}
}

// fragments are those that have bytes, by start and source.
func (s *Sized) fragments() (out []int) {
	for m, size := range s.Bytes {
		if size > 0 {
			out = append(out, m)
		}
	}
	slices.SortStableFunc(out, func(a, b int) int { return cmp.Compare(s.Start[a], s.Start[b]) })
	return out
}

// covered are the header lines that the hash covers.
func (s *Sized) covered() string { return s.Plan.covered() + s.sum() }

// sum is the header line of the sizes.
func (s *Sized) sum() string {
	h := sha256.New()
	for m, size := range s.Bytes {
		if size > 0 {
			fmt.Fprintf(h, "%d,%d,%d\n", m/s.Problem.Hosts, m%s.Problem.Hosts, size)
		}
	}
	return fmt.Sprintf("# sizes sha256:%x\n", h.Sum(nil))
}

// WriteText writes the plan file: header lines, then a line "start src dst - bytes" for each
// fragment.
func (s *Sized) WriteText(w io.Writer) error {
	others := fmt.Sprintf("# schedule list\n# made %s\n# phases 0\n# time %d\n# bound %d %s\n", s.Made, s.Time, s.Least, s.LinkName(s.Bound.Link))
	return plan.Text{Names: s.names(), Covered: s.covered(), Others: others, Rows: s.lines}.WriteText(w)
}

func (s *Sized) lines(w io.Writer) error {
	out := bufio.NewWriterSize(w, 1<<16)
	for _, m := range s.fragments() {
		fmt.Fprintf(out, "%d %d %d - %d\n", s.Start[m], m/s.Problem.Hosts, m%s.Problem.Hosts, s.Bytes[m])
	}
	return out.Flush()
}

// Answer says how long the exchange takes, how far that is from the least, and how long in the order of ranks.
func (s *Sized) Answer() answer.Answer {
	m := promise.Promise{Kind: promise.Bytes, Takes: float64(s.Time), Least: float64(s.Least), Why: []string{s.witness()}}
	return s.answer(answer.Start, m, promise.Amount(m.Takes)+" byte times", "in the order of ranks, with a barrier after each step, it takes "+promise.Amount(float64(s.ranks)))
}

// witness says why no order is shorter.
func (s *Sized) witness() string {
	if s.Bound.Link < 0 {
		return "no host has a fragment for another"
	}
	sum := int64(0)
	for m, size := range s.Bytes {
		if size > 0 && slices.Contains(s.links[m], int32(s.Bound.Link)) {
			sum += size
		}
	}
	return fmt.Sprintf("%s has to carry %s bytes", s.LinkName(s.Bound.Link), show.Commas(int(sum)))
}
