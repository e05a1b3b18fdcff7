package jobs

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// ParseSizes reads sizes of jobs: "3x60,20" is three of 60 nodes and one of 20.
func ParseSizes(s string) ([]int, error) {
	var sizes []int
	for item := range strings.SplitSeq(s, ",") {
		times, size, many := strings.Cut(item, "x")
		if !many {
			times, size = "1", item
		}
		t, err1 := strconv.Atoi(times)
		n, err2 := strconv.Atoi(size)
		if err1 != nil || err2 != nil || t < 1 || n < 1 || t > MaxNodes || n > MaxNodes || len(sizes)+t > MaxNodes {
			return nil, fmt.Errorf("%q: sizes of jobs are such as 3x60,20", short(s))
		}
		for range t {
			sizes = append(sizes, n)
		}
	}
	return sizes, nil
}

// Scatter puts jobs of those sizes on nodes 0..nodes-1, at random, no node in two
// jobs. The same seed and draw give the same placement.
func Scatter(sizes []int, nodes int, seed, draw uint64) ([][]int, error) {
	total := 0
	for _, s := range sizes {
		if total += s; s < 0 || total > nodes {
			return nil, fmt.Errorf("jobs of %v nodes do not fit on %d", sizes, nodes)
		}
	}
	order := rand.New(rand.NewPCG(seed, draw)).Perm(nodes)
	placed := make([][]int, len(sizes))
	for i, s := range sizes {
		placed[i], order = order[:s:s], order[s:]
	}
	return placed, nil
}
