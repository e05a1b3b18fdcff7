package closed

import (
	"testing"

	"evbench/site/lft"
	"evbench/site/network"
	"evbench/testing/expect"
)

type shape = network.QFT

func buildQFT(t testing.TB, q shape, lmc int) *network.Network {
	t.Helper()
	n := expect.Value(q.Build(lmc))(t)
	return n
}

// number is the inverse of digits.
func (t *tree) number(digits []int, level int) int {
	i := 0
	for k := len(digits) - 1; k >= 0; k-- {
		radix := t.M[k]
		if k < level {
			radix = t.W[k]
		}
		i = i*radix + digits[k]
	}
	return t.first[level-1] + i
}

// sizes are 20 of 3 and 4 levels, with as many cables up as down below the top.
var sizes = []shape{
	{M: []int{4, 2, 4}, W: []int{1, 2, 4}, P: []int{1, 2, 1}},               // 32
	{M: []int{4, 2, 8}, W: []int{1, 2, 4}, P: []int{1, 2, 1}},               // 64
	{M: []int{6, 3, 4}, W: []int{1, 3, 6}, P: []int{1, 2, 1}},               // 72
	{M: []int{6, 2, 6}, W: []int{1, 2, 6}, P: []int{1, 3, 1}},               // 72
	{M: []int{8, 4, 4}, W: []int{1, 4, 8}, P: []int{1, 2, 1}},               // 128
	{M: []int{8, 2, 8}, W: []int{1, 2, 8}, P: []int{1, 4, 1}},               // 128
	{M: []int{9, 3, 9}, W: []int{1, 3, 9}, P: []int{1, 3, 1}},               // 243
	{M: []int{12, 4, 6}, W: []int{1, 4, 12}, P: []int{1, 3, 1}},             // 288
	{M: []int{12, 6, 12}, W: []int{1, 6, 12}, P: []int{1, 2, 1}},            // 864
	{M: []int{18, 3, 18}, W: []int{1, 3, 18}, P: []int{1, 6, 1}},            // 972
	{M: []int{18, 9, 28}, W: []int{1, 9, 18}, P: []int{1, 2, 1}},            // 4,536
	{M: []int{18, 9, 36}, W: []int{1, 9, 18}, P: []int{1, 2, 1}},            // 5,832
	{M: []int{4, 2, 4, 2}, W: []int{1, 2, 4, 4}, P: []int{1, 2, 1, 1}},      // 64
	{M: []int{4, 2, 4, 8}, W: []int{1, 2, 4, 4}, P: []int{1, 2, 1, 1}},      // 256
	{M: []int{6, 3, 6, 4}, W: []int{1, 3, 6, 6}, P: []int{1, 2, 1, 1}},      // 432
	{M: []int{6, 2, 6, 6}, W: []int{1, 2, 6, 6}, P: []int{1, 3, 1, 1}},      // 432
	{M: []int{8, 2, 8, 6}, W: []int{1, 2, 8, 8}, P: []int{1, 4, 1, 1}},      // 768
	{M: []int{12, 4, 12, 4}, W: []int{1, 4, 12, 12}, P: []int{1, 3, 1, 1}},  // 2,304
	{M: []int{18, 3, 18, 6}, W: []int{1, 3, 18, 18}, P: []int{1, 6, 1, 1}},  // 5,832
	{M: []int{18, 3, 18, 12}, W: []int{1, 3, 18, 18}, P: []int{1, 6, 1, 1}}, // 11,664
}

// free checks that no cable has two paths of a shift permutation.
func free(t *testing.T, tables *lft.Tables) {
	t.Helper()
	most, err := mostOfShifts(tables)
	expect.True(t, err == nil && most == 1, "%d paths on a cable, %v", most, err)
}

func TestQFTNoContention(t *testing.T) {
	for _, q := range sizes {
		t.Run(q.String(), func(t *testing.T) {
			tables := expect.Value(QFT(buildQFT(t, q, 0)))(t)
			free(t, tables)
		})
	}
}

// Levels other than the second may be crossed too, and the top.
func TestQFTNoContentionElsewhere(t *testing.T) {
	for _, q := range []shape{
		{M: []int{4, 4, 4}, W: []int{1, 4, 2}, P: []int{1, 1, 2}},
		{M: []int{6, 6, 4}, W: []int{1, 6, 2}, P: []int{1, 1, 3}},
		{M: []int{4, 4, 2, 4}, W: []int{1, 4, 2, 4}, P: []int{1, 1, 2, 1}},
		{M: []int{6, 6, 2, 6}, W: []int{1, 6, 2, 6}, P: []int{1, 1, 3, 1}},
		{M: []int{3, 3, 4, 4}, W: []int{1, 3, 3, 4}, P: []int{1, 1, 1, 1}},
		{M: []int{4, 4, 4, 3}, W: []int{1, 4, 4, 2}, P: []int{1, 1, 1, 2}},
	} {
		t.Run(q.String(), func(t *testing.T) {
			tables := expect.Value(QFT(buildQFT(t, q, 0)))(t)
			free(t, tables)
		})
	}
}
