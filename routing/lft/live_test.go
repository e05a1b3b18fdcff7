package lft_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"evbench/internal/expect"
	"evbench/routing/ibtest"
	"evbench/routing/lft"
)

// TestOpenSMLoadsDump has the engine "file" of OpenSM load arbitrary tables, with
// one and with four LIDs to a host, and reads back what the switches got.
func TestOpenSMLoadsDump(t *testing.T) {
	ibtest.Need(t)
	for lmc, name := range map[int]string{0: "one LID", 2: "four LIDs"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := parseNetwork(t, "PGFT(3;2,3,3;1,2,3;1,2,1)", lmc, "s1_0/3")
			tables := arbitrary(n, rand.New(rand.NewPCG(uint64(lmc), 6)), 0)
			path := filepath.Join(t.TempDir(), "lft.txt")
			expect.Must(t, os.WriteFile(path, []byte(dumped(t, tables)), 0o600))
			args := []string{"-U", path}
			if lmc > 0 {
				args = append(args, "-l", "2")
			}
			r := expect.Value(ibtest.Route(t.Context(), n, "file", nil, args...))(t)
			d, err := lft.Diff(tables, r.Tables)
			expect.True(t, err == nil && d.Hosts == 0 && r.Engine == "file", "%s: %+v, %v", r.Engine, d, err)
		})
	}
}
