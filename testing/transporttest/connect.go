package transporttest

import (
	"io"
	"sync"
	"testing"
)

// ConnectAll connects n ranks, all at the same time, and closes their endpoints when the test ends.
// An error of any ends the test.
func ConnectAll[E io.Closer](t testing.TB, n int, connect func(rank int) (E, error)) []E {
	t.Helper()
	eps, errs := make([]E, n), make([]error, n)
	var all sync.WaitGroup
	for r := range n {
		all.Go(func() { eps[r], errs[r] = connect(r) })
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		for _, e := range eps {
			_ = e.Close()
		}
	})
	return eps
}
