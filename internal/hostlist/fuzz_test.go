package hostlist

import (
	"slices"
	"strings"
	"testing"

	"evbench/internal/expect"
)

// FuzzExpand: no list names more hosts than it may, every name is one, and what is written
// of them names the same.
func FuzzExpand(f *testing.F) {
	f.Add("node[001-003,400],login")
	f.Add("r[1-2]n[08-11]-ib,n[1048575],[0]x[9]")
	f.Add("n[1-9]m[1-9]o[1-9]p[1-9]q[1-9]")
	f.Fuzz(func(t *testing.T, expr string) {
		names, err := Expand(expr)
		if err != nil {
			said := err.Error()
			expect.MustTrue(t, strings.HasPrefix(said, "host list ") && len(said) <= 1000, "%q: %s", expr, said)
			return
		}
		expect.MustTrue(t, len(names) <= Max, "%q: %d names", expr, len(names))
		if len(names) > 1<<12 {
			return // long to compare, and no different
		}
		slices.SortFunc(names, Compare)
		names = slices.Compact(names)
		for _, n := range names {
			expect.MustTrue(t, n != "" && Check(n, maxParts*(maxName+maxDigits)) == nil, "%q: name %q", expr, n)
		}
		short := Compress(names)
		again, err := Expand(short)
		slices.SortFunc(again, Compare)
		expect.MustTrue(t, err == nil && slices.Equal(again, names), "%q became %q and %.10q, not %.10q: %v", expr, short, again, names, err)
	})
}
