package credit

import (
	"testing"

	"evbench/internal/expect"
)

// TestJobs: two jobs whose hosts are not next to each other, and a host of none.
func TestJobs(t *testing.T) {
	t.Parallel()
	jobs := [][]int32{{4, 0, 2}, {1, 5}}
	p := Jobs(7, jobs, []Pattern{ShiftSequence(3, 1), Shift(2, 1)})
	for _, tt := range []struct {
		host int32
		want [3]int32
	}{
		{4, [3]int32{0, 2, 0}}, {0, [3]int32{2, 4, 2}}, {2, [3]int32{4, 0, 4}},
		{1, [3]int32{5, 5, 5}}, {5, [3]int32{1, 1, 1}}, {3, [3]int32{3, 3, 3}}, {6, [3]int32{6, 6, 6}},
	} {
		for i, want := range tt.want {
			expect.Equal(t, p(tt.host, int64(i), nil), want, "message %d of host %d goes to", i, tt.host)
		}
	}
}

func TestPermutation(t *testing.T) {
	t.Parallel()
	p := Permutation([]int32{2, 0, 1})
	for host, want := range []int32{2, 0, 1} {
		for i := range int64(3) {
			expect.Equal(t, p(int32(host), i, nil), want, "message %d of host %d goes to", i, host)
		}
	}
}
