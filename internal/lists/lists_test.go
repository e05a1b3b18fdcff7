package lists_test

import (
	"slices"
	"strconv"
	"testing"

	"evbench/internal/lists"
	"evbench/testing/expect"
)

func TestLists(t *testing.T) {
	if got := lists.Map([]int{3, 1}, strconv.Itoa); !slices.Equal(got, []string{"3", "1"}) || lists.Map(nil, strconv.Itoa) != nil {
		t.Errorf("Map: %q", got)
	}
	expect.True(t, slices.Equal(lists.Tabulate(3, strconv.Itoa), []string{"0", "1", "2"}), "Tabulate")
	by := lists.By([]int{5, 2, 3}, func(n int) bool { return n%2 == 0 })
	expect.True(t, len(by) == 2 && slices.Equal(by[true], []int{2}) && slices.Equal(by[false], []int{5, 3}), "By: %v", by)
}

func TestNumbers(t *testing.T) {
	odd := func(n int) bool { return n%2 == 1 }
	all := []int{5, 2, 3}
	expect.True(t, slices.Equal(lists.Filter(all, odd), []int{5, 3}) && lists.Filter(all[1:2], odd) == nil, "Filter")
	groups := lists.Groups(all, odd)
	expect.True(t, len(groups) == 2 && slices.Equal(groups[0], []int{5, 3}) && slices.Equal(groups[1], []int{2}), "Groups: %v", groups)
	expect.True(t, lists.CountIf(all, odd) == 2 && lists.CountIf(nil, odd) == 0, "CountIf")
	double := func(n int) float64 { return 2 * float64(n) }
	expect.True(t, lists.Sum(all, double) == 20 && lists.MaxOf(all, double) == 10 && lists.MaxOf(nil, double) == 0, "Sum, MaxOf")
}
