package ports

import (
	"fmt"
	"strings"
	"testing"

	"evbench/testing/expect"
)

// A survey until all ways are known has a port for each live spine of each pair, also of hosts that are alone on a leaf, and
// asks no pair for more ports than ways after that.
func TestUntilAll(t *testing.T) {
	for _, onLeaf := range []int{1, 3} {
		f := &fake{hosts: 4 * onLeaf, onLeaf: onLeaf, spines: 5, dead: [][2]int{{1, 2}}}
		s, err := Run(t.Context(), f.list(), 7000, Options{Ports: 2, Seed: 7, All: true}, f.ask)
		expect.Must(t, err)
		ways := map[[2]int]map[string]bool{}
		used := map[string]bool{}
		for _, r := range s.Paths.Rows {
			if r.Port == None {
				continue
			}
			pair := [2]int{r.Src, r.Dst}
			if ways[pair] == nil {
				ways[pair] = map[string]bool{}
			}
			ways[pair][fmt.Sprint(r.Hops)] = true
			expect.False(t, used[fmt.Sprint(r.Src, r.Port)], "host %d has port %d twice", r.Src, r.Port)
			used[fmt.Sprint(r.Src, r.Port)] = true
		}
		for src := range f.hosts {
			for dst := range f.hosts {
				a, b := src/onLeaf, dst/onLeaf
				want := 5
				if a == 1 || b == 1 {
					want = 4
				}
				if a != b {
					expect.Equal(t, len(ways[[2]int{src, dst}]), want, "ways from %d to %d", src, dst)
				}
			}
		}
		expect.True(t, s.Ways == 5 && s.Short == 0, "%d ways, %d pairs lack one", s.Ways, s.Short)
		expect.Contains(t, strings.Join(s.Answer(nil).Why, "; "), "each pair has a port for each way between its switches, of which two have 5 at most")
	}
}

// What would take more ports than a host has is said.
func TestUntilAllOfTooMany(t *testing.T) {
	f := &fake{hosts: 2, onLeaf: 1, spines: 150}
	s, err := Run(t.Context(), f.list(), 7000, Options{Ports: 2, Seed: 7, All: true}, f.ask)
	expect.Must(t, err)
	expect.Equal(t, s.Short, 2, "pairs that lack a way")
	expect.Contains(t, s.Answer(nil).Sentence, "2 pairs have no port for some way between their switches, after 1024 ports")
}

// The ports that show all ways: those of the table of Augustin et al. for a smaller chance.
func TestEnough(t *testing.T) {
	for ways, want := range map[int]int{1: 11, 2: 20, 18: 183, 64: 715} {
		miss := float64(ways + 1)
		for range enough(ways) {
			miss *= float64(ways) / float64(ways+1)
		}
		expect.True(t, enough(ways) == want && miss <= missed && miss*float64(ways+1)/float64(ways) > missed, "%d ways: %d ports, missed with %.5f; want %d", ways, enough(ways), miss, want)
	}
}
