package verify_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"evbench/internal/expect"
	"evbench/plan/verify"
)

// The addresses that the spines of a plan take are counted as a second, obvious
// count does, and a wrong statement is an offence.
func TestPaths(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	for range 100 {
		plans := drafts(t, 1+rng.IntN(5), 1+rng.IntN(4)+1)
		d := plans[rng.IntN(len(plans))].clone()
		scramble(d, rng)
		used := map[string]map[int]bool{}
		most := 0
		for _, m := range d.messages {
			_, isSrc := d.tree.Rank(m[1])
			_, isDst := d.tree.Rank(m[2])
			if !isSrc || !isDst || d.inside(m) || m[3] < 0 || m[3] >= d.tree.Spines() {
				continue
			}
			key := fmt.Sprint(d.leaf(m[1]), " ", m[2])
			if used[key] == nil {
				used[key] = map[int]bool{}
			}
			used[key][m[3]] = true
			most = max(most, len(used[key]))
		}
		lmc := 0
		for 1<<lmc < most {
			lmc++
		}
		lids := d.tree.Servers()*(1<<lmc) + d.tree.Leaves() + d.tree.Spines()
		want := verify.Paths{Most: most, LMC: lmc, LIDs: lids, Entries: lids - 1}
		if r := judge(t, d.text(), verify.Options{}); r.Paths == nil || *r.Paths != want {
			t.Fatalf("%+v, want %+v\n%s", r.Paths, want, d.text())
		}
	}
}

// Thesis 6.7.2: 326 servers that are reached by more than 16 spines have 32
// addresses each, 32·326 + 37 entries in the table of a switch.
func TestPathsOfTheThesis(t *testing.T) {
	text := "# evbench plan 1\n# topology FT(2;20,18)\n# fill 19,19,18,18,18,18,18,18,18,18,18,18,18,18,18,18,18,18\n"
	for k := range 17 {
		text += fmt.Sprintf("%d %d 20 %d\n", k, k, k)
	}
	want := verify.Paths{Most: 17, LMC: 5, LIDs: 10470, Entries: 10469}
	r := judge(t, text, verify.Options{})
	expect.True(t, *r.Paths == want, "%+v, want %+v", r.Paths, want)
}
