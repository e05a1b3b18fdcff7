package open

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"evbench/internal/expect"
)

// The file of a group is read whole, or refused with what is wrong in it.
func TestReadMembers(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"one", `[{"server": 3, "data": "10.0.0.1:7000,10.1.0.1:7000", "inside": "/proc/1/fd/7"}]`, ""},
		{"none", `[]`, "no member"},
		{"no list", `{}`, "cannot unmarshal"},
		{"cut short", `[{"server": 3`, "unexpected end"},
		{"no address", `[{"server": 3, "data": "10.0.0.1", "inside": "/x"}]`, "member 0"},
		{"no namespace", `[{"server": 3, "data": "10.0.0.1:1"}]`, "member 0"},
		{"no position", `[{"server": -1, "data": "10.0.0.1:1", "inside": "/x"}]`, "member 0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "group")
			expect.Must(t, os.WriteFile(name, []byte(tt.text), 0o600))
			_, err := ReadMembers(name)
			expect.ErrorIf(t, err, tt.want)
		})
	}
}

// Servers are split evenly, in order, each into one process, as many as files allow.
func TestSplit(t *testing.T) {
	for n := 1; n <= 40; n++ {
		for most := 1; most <= n; most++ {
			all := split(n, most)
			joined := slices.Concat(all...)
			expect.MustTrue(t, len(joined) == n && slices.IsSorted(joined), "%d servers by %d: %v", n, most, all)
			least := len(slices.MinFunc(all, func(a, b []int) int { return len(a) - len(b) }))
			for _, ranks := range all {
				expect.MustTrue(t, len(ranks) <= most && len(ranks) <= least+1, "%d servers by %d: %v", n, most, all)
			}
		}
	}
}
