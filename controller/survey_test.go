package controller

import (
	"testing"

	"evbench/internal/expect"
)

// Everyone meets everyone once, one at a time, in as few rounds as there can be.
func TestPairings(t *testing.T) {
	for n := range 30 {
		rounds := pairings(n)
		if want := n - 1 + n%2; n > 1 && len(rounds) != want {
			t.Errorf("%d servers: %d rounds, want %d", n, len(rounds), want)
		}
		met := map[[2]int]int{}
		for _, partner := range rounds {
			for a, b := range partner {
				if b < 0 {
					continue
				}
				expect.MustTrue(t, a != b && partner[b] == a, "%d servers: %d meets %d, who meets %d", n, a, b, partner[b])
				met[[2]int{a, b}]++
			}
		}
		expect.True(t, len(met) == n*max(n-1, 0), "%d servers: %d ordered pairs meet, want %d", n, len(met), n*(n-1))
		for pair, times := range met {
			expect.Equal(t, times, 1, "%d servers: times that %v meet", n, pair)
		}
	}
}
