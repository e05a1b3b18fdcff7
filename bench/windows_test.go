package bench

import (
	"fmt"
	"strings"
	"testing"

	"evbench/internal/wire"
	"evbench/scenario"
)

// tokenOf is a token that a rank awaits for one of its sends.
type tokenOf struct{ from, to, send int }

// What workers are told fits together, on random trees and sizes: each fragment is sent and
// received once, each token that is awaited is sent once, no more than three to a fragment,
// and the plans of windows lead from one to the next.
func TestParts(t *testing.T) {
	across := 0
	for seed := range 12 {
		s, err := scenario.Read("t.yaml", strings.NewReader(fmt.Sprintf(`
topology: FT(2;%d,%d)
seed: %d
fabric: {kind: hosts}
event: {fragment: 4KiB, sizes: {spread: 0.9}}
cases: [{mode: ordered, failures: [leaf0-spine0]}]
`, 2+seed%3, 2+seed%4, seed)))
		if err != nil {
			t.Fatal(err)
		}
		tree, err := s.Tree.Without(s.Cases[0].Failures...)
		if err != nil {
			t.Fatal(err)
		}
		n := tree.Servers()
		o, from, before := &orderer{s: s, c: s.Cases[0], t: tree}, uint64(0), make([]int, n)
		for k, count := range []int{1, 3, 2} {
			parts, err := o.Next(from, count, k == 0)
			if err != nil {
				t.Fatal(err)
			}
			across += checkParts(t, parts, count, before)
			from += uint64(count)
			for r, w := range parts {
				before[r] += len(w.Takes)
			}
		}
	}
	if across == 0 {
		t.Error("no window has tokens of those before")
	}
}

// checkParts returns how many tokens are of windows before.
func checkParts(t *testing.T, parts []wire.Window, count int, before []int) (across int) {
	t.Helper()
	n, fragments := len(parts), map[[3]int]int{}
	awaited, sent := map[tokenOf]bool{}, 0
	for r, w := range parts {
		for i, x := range w.Sends {
			fragments[[3]int{x.Exchange, r, x.To}]++
			for _, from := range x.Await {
				awaited[tokenOf{from, r, i}] = true
			}
		}
	}
	for r, w := range parts {
		for _, x := range w.Takes {
			fragments[[3]int{x.Exchange, x.From, r}] += 2
		}
		for _, x := range w.Tells {
			at := tokenOf{r, x.To, x.Send}
			if !awaited[at] || x.After < -before[r] || x.After >= len(w.Takes) {
				t.Errorf("rank %d of %d sends %+v", r, n, x)
			}
			if delete(awaited, at); x.After < 0 {
				across++
			}
			sent++
		}
	}
	if len(awaited) > 0 || len(fragments) != count*n*(n-1) || sent > 3*len(fragments) {
		t.Errorf("%d tokens are awaited and not sent, %d fragments, %d tokens", len(awaited), len(fragments), sent)
	}
	for x, how := range fragments {
		if how != 3 {
			t.Errorf("fragment %v: %d; 1 is sent only, 2 received only", x, how)
		}
	}
	return across
}
