// Package parallel does the same work for each of many items on several processors. The result must
// not depend on the assignment of items.
package parallel

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Workers returns the number of workers: 0 or less means one for each processor.
func Workers(asked int) int {
	if asked > 0 {
		return asked
	}
	return runtime.GOMAXPROCS(0)
}

// most is how many items a worker takes at once if there are many.
const most = 32

// Each calls f for the items 0..n-1 from several workers and returns when all are done. A worker
// gets rising items; its number is for memory of its own.
func Each(workers, n int, f func(worker, item int)) {
	workers = min(Workers(workers), n)
	chunk := max(1, min(most, n/(most*max(1, workers))))
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
	var others sync.WaitGroup
	for worker := 1; worker < workers; worker++ {
		others.Go(func() { work(worker) })
	}
	work(0)
	others.Wait()
}

// Try is Each for work that may fail. After an error no later item is begun. It returns the error
// of the lowest item that fails.
func Try(workers, n int, f func(item int) error) error {
	errs := make([]error, n+1)
	var lowest atomic.Int64 // that has failed
	lowest.Store(int64(n))
	Each(workers, n, func(_, i int) {
		item := int64(i)
		if item > lowest.Load() {
			return
		}
		if errs[i] = f(i); errs[i] == nil {
			return
		}
		for at := lowest.Load(); item < at && !lowest.CompareAndSwap(at, item); {
			at = lowest.Load()
		}
	})
	return errs[lowest.Load()]
}
