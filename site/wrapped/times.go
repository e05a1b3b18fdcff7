package wrapped

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"evbench/results"
)

// A Call is one call of MPI_Alltoall or a variant, by all ranks of a communicator.
type Call struct {
	Kind     string // alltoall, alltoallv
	Planned  bool   // in the order of the plan, else by the MPI
	Ranks    int
	Bytes    int64   // sent by the busiest rank to all others
	Min, Max float64 // seconds, over ranks
}

// Times are the times of a run's calls.
type Times struct {
	Calls       []Call
	Loaded      int      // ranks; 0: the library was not loaded
	More        int      // calls that were not recorded
	Nonblocking int      // calls of MPI_Ialltoall, which are left to the MPI
	Steered     int      // connections by the plan's ports
	Unsteered   int      // others between its hosts, of which the library says what they are
	Refused     []string // why communicators did not follow a plan that is wrong, or not for this job
}

// followed is an error if a plan was refused, and no call followed it.
func (t *Times) followed() error {
	if len(t.Refused) == 0 || slices.ContainsFunc(t.Calls, func(c Call) bool { return c.Planned }) {
		return nil
	}
	return fmt.Errorf("the program ended, and no call followed the plan: %s", strings.Join(t.Refused, "; "))
}

// readTimes reads the library's file: "loaded RANKS", "kind plan|own ranks bytes min max" a call,
// "more N", "nonblocking N" and "refused WHY".
func readTimes(r io.Reader) (*Times, error) {
	t := &Times{}
	in := bufio.NewScanner(r)
	for line := 1; in.Scan(); line++ {
		f := strings.Fields(in.Text())
		var err error
		if why, refused := strings.CutPrefix(in.Text(), "refused "); refused {
			t.Refused = append(t.Refused, why)
		} else if len(f) == 2 {
			err = t.count(f[0], f[1])
		} else {
			var c Call
			c, err = readCall(f)
			t.Calls = append(t.Calls, c)
		}
		if err != nil {
			return nil, fmt.Errorf("times: line %d: %w", line, err)
		}
	}
	return t, in.Err()
}

func (t *Times) count(what, number string) error {
	to := map[string]*int{"loaded": &t.Loaded, "more": &t.More, "nonblocking": &t.Nonblocking, "steered": &t.Steered, "unsteered": &t.Unsteered}[what]
	n, err := strconv.Atoi(number)
	switch {
	case to == nil:
		return fmt.Errorf("%q: not loaded, more, nonblocking, steered or unsteered", what)
	case err != nil:
		return err
	case n < 0:
		return errors.New("below 0")
	}
	*to += n
	return nil
}

func readCall(f []string) (c Call, err error) {
	if len(f) != 6 || f[1] != "plan" && f[1] != "own" {
		return c, errors.New("not \"kind plan|own ranks bytes min max\"")
	}
	c.Kind, c.Planned = f[0], f[1] == "plan"
	var errs [4]error
	c.Ranks, errs[0] = strconv.Atoi(f[2])
	c.Bytes, errs[1] = strconv.ParseInt(f[3], 10, 64)
	c.Min, errs[2] = strconv.ParseFloat(f[4], 64)
	c.Max, errs[3] = strconv.ParseFloat(f[5], 64)
	if err := errors.Join(errs[:]...); err != nil {
		return c, err
	}
	if c.Ranks < 1 || c.Bytes < 0 || !(c.Min >= 0 && c.Max >= c.Min) || math.IsInf(c.Max, 1) {
		return c, errors.New("these numbers are impossible")
	}
	return c, nil
}

// A Row compares calls of one kind, size and communicator size.
type Row struct {
	Kind  string `json:"call"`
	Ranks int    `json:"ranks"`
	Bytes int64  `json:"bytes"` // from a rank to all others
	Calls int    `json:"calls"` // of all runs with the plan or, without any, of those without
	Plan  bool   `json:"in_the_order_of_the_plan"`

	// Median seconds of a call's slowest rank; without and with the plan. 0: no such run.
	Before float64 `json:"seconds_without,omitempty"`
	After  float64 `json:"seconds_with,omitempty"`
	// Ratio is Before / After.
	Ratio float64 `json:"ratio,omitempty"`
	// Shares of the link rate at which ranks receive, if it is known.
	EfficiencyBefore float64 `json:"efficiency_without,omitempty"`
	EfficiencyAfter  float64 `json:"efficiency_with,omitempty"`
	// Share of the most that any schedule reaches on this network.
	OfBound float64 `json:"of_bound,omitempty"`

	without, with results.Interval // of Before and After
}

type group struct {
	kind  string
	ranks int
	bytes int64
}

// Summary compares runs without and with the plan: medians over all their calls, by kind and size,
// the largest first. rate is the rate of a host link, bit/s, 0 if unknown; bound is the efficiency
// that no schedule exceeds. link ranks share an adapter's link, and host ranks a host.
func Summary(before, after []*Times, rate, bound float64, link, host int) []Row {
	was, is := seconds(before, false), seconds(after, true)
	own := seconds(after, false)
	var out []Row
	add := func(g group, plan bool, b, a []float64) {
		r := Row{Kind: g.kind, Ranks: g.ranks, Bytes: g.bytes, Plan: plan, Before: results.NewStat(b).Median, After: results.NewStat(a).Median, Calls: max(len(a), len(b)), without: results.NewInterval(b), with: results.NewInterval(a)}
		if r.Before > 0 && r.After > 0 {
			r.Ratio = r.Before / r.After
		}
		if rate > 0 {
			r.EfficiencyBefore, r.EfficiencyAfter = share(g, r.Before, rate, link, host), share(g, r.After, rate, link, host)
			if bound > 0 && plan {
				r.OfBound = r.EfficiencyAfter / bound
			}
		}
		out = append(out, r)
	}
	for g, a := range is {
		add(g, true, was[g], a)
	}
	for g, b := range was {
		if _, done := is[g]; !done {
			add(g, false, b, own[g])
			delete(own, g)
		}
	}
	for g, a := range own {
		if _, done := is[g]; !done {
			add(g, false, nil, a)
		}
	}
	slices.SortFunc(out, func(a, b Row) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Ranks, b.Ranks))
	})
	return out
}

// share is the rate at which an adapter's ranks send bytes to other hosts, divided by the rate of
// its link.
func share(g group, s, rate float64, link, host int) float64 {
	if s <= 0 {
		return 0
	}
	away := float64(g.ranks-host) / float64(max(g.ranks-1, 1))
	return 8 * float64(g.bytes) * away * float64(link) / s / rate
}

func seconds(runs []*Times, planned bool) map[group][]float64 {
	out := map[group][]float64{}
	for _, t := range runs {
		for _, c := range t.Calls {
			if c.Planned == planned {
				g := group{c.Kind, c.Ranks, c.Bytes}
				out[g] = append(out[g], c.Max)
			}
		}
	}
	return out
}
