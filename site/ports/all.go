package ports

import (
	"fmt"
	"math"
	"slices"
)

const (
	// missed is the chance that a way between two switches stays unseen, were there one more of equal ways than have
	// been: the stopping rule of multipath detection (Augustin, Friedman, Teixeira, E2EMON 2007), over all pairs of
	// hosts of the two switches together.
	missed = 1e-3
	// mostEach is how many ports of a pair are asked about at most: 64 equal ways, seen by one pair alone, need 716.
	mostEach = 1024
	// mostUsed is how many of the portRange ports one host may use: a host of 326 with 18 ways needs half of them.
	mostUsed = portRange * 3 / 4
)

// enough is how many ports show all of so many equal ways, but for the chance missed.
func enough(ways int) int {
	more := float64(ways + 1)
	return int(math.Ceil(math.Log(missed/more) / math.Log(float64(ways)/more)))
}

// A bundle is the ways from one switch to another one.
type bundle struct {
	number map[string]int // of a way
	asked  int            // ports whose way is known
}

// A census is what the questions so far say of bundles and pairs.
type census struct {
	at      []int // number of the switch of each host
	bundles map[[2]int]*bundle
	own     [][]int // by src·hosts + dst: ways of which the pair has a port
}

func (x *census) bundle(src, dst int) *bundle { return x.bundles[[2]int{x.at[src], x.at[dst]}] }

// census looks at all questions. A port that was added for a way that the pair has in the meantime is given up, for
// another destination: hosts have few ports.
func (s *surveying) census() census {
	n := len(s.Paths.Hosts)
	near := Paths{Hosts: s.Paths.Hosts, Rows: s.rows()}
	x := census{near.groupOf(), map[[2]int]*bundle{}, make([][]int, n*n)}
	for src, all := range s.questions {
		s.questions[src] = slices.DeleteFunc(all, func(q *question) bool {
			if !q.reached || q.failed || !q.Known() || x.at[q.Src] == x.at[q.Dst] {
				return false
			}
			b := x.bundle(q.Src, q.Dst)
			if b == nil {
				b = &bundle{number: map[string]int{}}
				x.bundles[[2]int{x.at[q.Src], x.at[q.Dst]}] = b
			}
			way := fmt.Sprint(q.Hops)
			if _, ok := b.number[way]; !ok {
				b.number[way] = len(b.number)
			}
			b.asked++
			has := &x.own[q.Src*n+q.Dst]
			switch known := slices.Contains(*has, b.number[way]); {
			case !known:
				*has = append(*has, b.number[way])
				return false
			case !q.extra:
				return false
			}
			delete(s.used[q.Src], q.Port)
			s.given[q.Src]++
			s.dropped[q.Src*n+q.Dst]++
			b.asked--
			return true
		})
	}
	for pair, dropped := range s.dropped {
		if b := x.bundle(pair/n, pair%n); b != nil {
			b.asked += dropped
		}
	}
	return x
}

// more adds questions for pairs that lack a port for a way between their switches, or whose switches may have ways that
// no port has shown. It returns how many pairs it added some for, and how many lack a way and get none.
func (s *surveying) more() (added, short int) {
	x, n := s.census(), len(s.Paths.Hosts)
	drawn := slices.Clone(s.dropped)
	s.each(func(q *question) { drawn[q.Src*n+q.Dst]++ })
	for pair, own := range x.own {
		src, dst := pair/n, pair%n
		b := x.bundle(src, dst)
		if b == nil {
			continue
		}
		s.Ways = max(s.Ways, len(b.number))
		lacks, add := len(b.number)-len(own), 0
		switch {
		case lacks > 0: // a few at first; in the end as many as show one of the ways, on average
			add = max(lacks, len(b.number)/lacks)
		case b.asked < enough(len(b.number)):
			add = 1
		default:
			continue
		}
		if add = min(add, mostEach-drawn[pair], mostUsed-len(s.used[src])); add <= 0 {
			short++
			continue
		}
		added++
		s.add(src, dst, add, true)
	}
	return added, short
}

func (s *surveying) each(visit func(*question)) {
	for _, all := range s.questions {
		for _, q := range all {
			visit(q)
		}
	}
}

func (s *surveying) add(src, dst, ports int, extra bool) {
	for range ports {
		q := &question{Row: Row{Src: src, Dst: dst}, extra: extra}
		s.draw(q)
		s.questions[src] = append(s.questions[src], q)
	}
}

// untilAll asks until each pair has a port for each way.
func (s *surveying) untilAll(run func() error) error {
	s.dropped = make([]int, len(s.Paths.Hosts)*len(s.Paths.Hosts))
	for {
		added, short := s.more()
		if s.Short = short; added == 0 {
			return nil
		}
		if err := run(); err != nil {
			return err
		}
	}
}
