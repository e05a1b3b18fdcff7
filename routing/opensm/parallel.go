package opensm

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// parallel calls do(0..n-1) on all processors, in any order.
func parallel(n int, do func(i int)) {
	workers := min(runtime.GOMAXPROCS(0), n)
	if workers <= 1 {
		for i := range n {
			do(i)
		}
		return
	}
	step := max(1, n/(8*workers))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for {
				end := int(next.Add(int64(step)))
				for i := end - step; i < min(end, n); i++ {
					do(i)
				}
				if end >= n {
					return
				}
			}
		})
	}
	wg.Wait()
}
