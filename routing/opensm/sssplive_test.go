package opensm

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"

	"evbench/internal/expect"
	"evbench/routing/ibtest"
	"evbench/topology/network"
)

// TestEqualToOpenSMSSSP routes degraded trees and tangles with OpenSM, whose LMC is
// 0, 1 or 2, and compares all entries. No entry is excepted.
func TestEqualToOpenSMSSSP(t *testing.T) {
	ibtest.Need(t)
	var entries atomic.Int64
	t.Run("network", func(t *testing.T) {
		for seed := range 24 {
			if testing.Short() && seed%6 != 3 {
				continue
			}
			name, n := drawn(t, seed, []int{0, 0, 0, 1, 0, 2, 0}[seed%7])
			if seed >= 20 {
				name, n = fmt.Sprint("tangle ", seed), tangle(t, 12, 12, 3, rand.New(rand.NewPCG(uint64(seed), 1)))
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				got := expect.Value(SSSP(n))(t)
				entries.Add(int64(same(t, got, ssspReferee(t, n, "sssp").Tables)))
			})
		}
	})
	t.Logf("%d entries compared", entries.Load())
}

func ssspReferee(t testing.TB, n *network.Network, engine string, args ...string) *ibtest.Result {
	t.Helper()
	r := expect.Value(ibtest.Route(t.Context(), n, engine, nil, args...))(t)
	expect.MustTrue(t, r.Engine == engine, "OpenSM used %s", r.Engine)
	return r
}

var (
	needed  = regexp.MustCompile(`Virtual Lanes needed: (\d+)`)
	before  = regexp.MustCompile(`(?s)before balancing.*?after balancing`)
	perLane = regexp.MustCompile(`\d+\. lane: (\d+)`)
)

// TestLanesOfOpenSM compares how many lanes OpenSM needs, and how many routes it
// puts on each before it spreads them: it must have cut the same cycles.
func TestLanesOfOpenSM(t *testing.T) {
	ibtest.Need(t)
	for seed := range 16 {
		if testing.Short() && seed%4 != 1 {
			continue
		}
		name, n := drawn(t, seed, []int{0, 0, 1}[seed%3])
		if seed >= 6 {
			r := rand.New(rand.NewPCG(uint64(seed), 2))
			name, n = fmt.Sprint("tangle ", seed), tangle(t, 8+seed, 4+2*seed, 2, r)
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res := ssspReferee(t, n, "dfsssp", "-Q")
			r, err := routed(n, "dfsssp")
			if err == nil {
				err = r.lanes(8, true)
			}
			expect.Must(t, err)
			same(t, r.tables, res.Tables)
			want := integers(needed, res.Log)
			expect.True(t, slices.Equal([]int{r.needed}, want), "needs %d lanes, OpenSM %v", r.needed, want)
			if want := integers(perLane, before.FindString(res.Log)); !slices.Equal(r.perLane, want) {
				t.Errorf("routes per lane %v, OpenSM %v", r.perLane, want)
			}
		})
	}
}

// integers are what a pattern finds.
func integers(p *regexp.Regexp, text string) (found []int) {
	for _, m := range p.FindAllStringSubmatch(text, -1) {
		i, _ := strconv.Atoi(m[1])
		found = append(found, i)
	}
	return found
}
