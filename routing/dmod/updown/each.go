package updown

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Workers returns how many workers a number asked for means: 0 is one per core.
func Workers(asked int) int {
	if asked > 0 {
		return asked
	}
	return runtime.GOMAXPROCS(0)
}

// Each calls f for 0..n-1 from several workers and waits for all. Worker numbers
// are for scratch memory only.
func Each(workers, n int, f func(worker, i int)) {
	workers = min(Workers(workers), n)
	chunk := max(1, min(32, n/(8*max(1, workers))))
	var next atomic.Int64
	work := func(worker int) {
		for {
			end := int(next.Add(int64(chunk)))
			for i := end - chunk; i < min(end, n); i++ {
				f(worker, i)
			}
			if end >= n {
				return
			}
		}
	}
	var group sync.WaitGroup
	for worker := 1; worker < workers; worker++ {
		group.Go(func() { work(worker) })
	}
	work(0)
	group.Wait()
}

// Scratch returns bytes for each worker.
func Scratch(workers, size int) [][]uint8 {
	out := make([][]uint8, Workers(workers))
	for i := range out {
		out[i] = make([]uint8, size)
	}
	return out
}
