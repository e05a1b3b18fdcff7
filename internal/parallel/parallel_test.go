package parallel

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"evbench/testing/expect"
)

func TestEach(t *testing.T) {
	for _, workers := range []int{0, 1, 2, 7} {
		for _, n := range []int{0, 1, 5, 1000} {
			done, last := make([]int, n), make([]int, max(1, Workers(workers)))
			Each(workers, n, func(w, i int) {
				done[i]++
				expect.True(t, i >= last[w], "%d workers: %d after %d", workers, i, last[w])
				last[w] = i
			})
			if slices.ContainsFunc(done, func(x int) bool { return x != 1 }) {
				t.Errorf("%d workers, %d: not each once", workers, n)
			}
		}
	}
}

// The error is that of the lowest item, whoever is first.
func TestTry(t *testing.T) {
	for _, workers := range []int{1, 2, 7} {
		for _, n := range []int{0, 10, 1000} {
			for _, lowest := range []int{0, 3, 600, 2000} {
				want := error(nil)
				if lowest < n {
					want = fmt.Errorf("item %d", lowest)
				}
				err := Try(workers, n, func(i int) error {
					if i >= lowest {
						return fmt.Errorf("item %d", i)
					}
					return nil
				})
				expect.True(t, fmt.Sprint(err) == fmt.Sprint(want), "%d workers, %d items: %v, want %v", workers, n, err, want)
			}
		}
	}
	begun, stop := 0, errors.New("stop")
	if err := Try(1, 1000, func(int) error { begun++; return stop }); !errors.Is(err, stop) || begun != 1 {
		t.Errorf("%v after %d items", err, begun)
	}
}
