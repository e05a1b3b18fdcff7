package main

import (
	"fmt"

	"evbench/results"
)

// Usage is what a process holds at a moment.
type Usage struct {
	ResidentBytes uint64 `json:"resident_byte"`
	Descriptors   int    `json:"descriptors"`
	Threads       int    `json:"threads"`
	Namespaces    int    `json:"namespaces"` // descriptors of network namespaces
}

// Bounds of what a process may hold more in the last quarter of a round than in the second.
const (
	growth      = 0.10
	growthBytes = 4 << 20
	moreThreads = 8
)

// Quarters returns the medians of the second and of the last quarter; false where there is
// too little to compare.
func Quarters(all []Usage) (second, last Usage, ok bool) {
	n := len(all)
	if n < 4 {
		return second, last, false
	}
	return median(all[n/4 : n/2]), median(all[n-n/4:]), true
}

func median(all []Usage) Usage {
	middle := func(of func(Usage) uint64) uint64 {
		values := make([]uint64, len(all))
		for i, u := range all {
			values[i] = of(u)
		}
		return results.Middle(values)
	}
	return Usage{
		ResidentBytes: middle(func(u Usage) uint64 { return u.ResidentBytes }),
		Descriptors:   int(middle(func(u Usage) uint64 { return uint64(u.Descriptors) })),
		Threads:       int(middle(func(u Usage) uint64 { return uint64(u.Threads) })),
		Namespaces:    int(middle(func(u Usage) uint64 { return uint64(u.Namespaces) })),
	}
}

func flat(all []Usage) []Finding {
	a, b, ok := Quarters(all)
	if !ok {
		return []Finding{{What: fmt.Sprintf("%d readings of memory and descriptors are too few", len(all)), Slow: true}}
	}
	// Of few readings each is half a median: it may have met what is open for a moment only,
	// and on a slow machine memory that has not come to its level yet.
	few := len(all) < 40
	moment := func(a, b int) bool { return few && max(a, b)-min(a, b) <= 2 }
	var out []Finding
	grown := func(format string, args ...any) {
		out = append(out, Finding{What: fmt.Sprintf(format, args...) + " (medians of the second and of the last quarter)"})
	}
	if float64(b.ResidentBytes) > (1+growth)*float64(a.ResidentBytes)+growthBytes {
		grown("memory grew from %.1f to %.1f MiB", mib(a), mib(b))
		out[len(out)-1].Slow = few
	}
	if a.Descriptors != b.Descriptors {
		grown("descriptors went from %d to %d", a.Descriptors, b.Descriptors)
		out[len(out)-1].Slow = moment(a.Descriptors, b.Descriptors)
	}
	if b.Threads > a.Threads+moreThreads {
		grown("threads grew from %d to %d", a.Threads, b.Threads)
	}
	if a.Namespaces != b.Namespaces {
		grown("network namespaces held went from %d to %d", a.Namespaces, b.Namespaces)
		out[len(out)-1].Slow = moment(a.Namespaces, b.Namespaces)
	}
	return out
}

func mib(u Usage) float64 { return float64(u.ResidentBytes) / (1 << 20) }
