package results

import (
	"cmp"
	"slices"
)

// NewStat returns the distribution of values, the zero Stat of none. The median
// of an even number is the mean of the two in the middle. O(n log n).
func NewStat(values []float64) Stat {
	n := len(values)
	if n == 0 {
		return Stat{}
	}
	v := slices.Sorted(slices.Values(values))
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return Stat{Min: v[0], Mean: sum / float64(n), Median: (v[(n-1)/2] + v[n/2]) / 2, Max: v[n-1]}
}

// Quantile returns the value below which a share q of sorted values lies, between two
// values in proportion. There must be a value.
func Quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	low := int(at)
	high := min(low+1, len(sorted)-1)
	return sorted[low] + (at-float64(low))*(sorted[high]-sorted[low])
}

// Middle returns the one of some values in the middle of their order, the upper of two.
// There must be a value. O(n log n).
func Middle[T cmp.Ordered](values []T) T {
	return slices.Sorted(slices.Values(values))[len(values)/2]
}
