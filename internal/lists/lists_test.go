package lists_test

import (
	"slices"
	"strconv"
	"testing"

	"evbench/internal/lists"
	"evbench/testing/expect"
)

func TestLists(t *testing.T) {
	if got := lists.Of([]int{3, 1}, strconv.Itoa); !slices.Equal(got, []string{"3", "1"}) || lists.Of(nil, strconv.Itoa) != nil {
		t.Errorf("Of: %q", got)
	}
	expect.True(t, slices.Equal(lists.Make(3, strconv.Itoa), []string{"0", "1", "2"}), "Make")
	by := lists.By([]int{5, 2, 3}, func(n int) bool { return n%2 == 0 })
	expect.True(t, len(by) == 2 && slices.Equal(by[true], []int{2}) && slices.Equal(by[false], []int{5, 3}), "By: %v", by)
}
