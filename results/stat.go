package results

import "slices"

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
