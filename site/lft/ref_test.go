package lft_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evbench/site/lft"
	"evbench/site/network"
	"evbench/testing/expect"
	"evbench/testing/ibtest"
)

// notation is what the folders of testdata are called.
var notation = map[string]string{
	"ft2_4_8": "FT(2;4,8)", "ft2_20_18": "FT(2;20,18)", "pgft3_4_4_4__1_4_4": "PGFT(3;4,4,4;1,4,4;1,1,1)",
}

type reference struct {
	Topo, Scen, Eng string
	N               int
	Slow            float64
	Worst           int
	Conflicts       int `json:"conf_phases"`
	Unreach         int64
	MaxLen          int
	Cycle           bool `json:"cdg_cycle"`
}

func references(t testing.TB) []reference {
	t.Helper()
	b := expect.Value(os.ReadFile("testdata/meta.json"))(t)
	var out []reference
	if err := json.Unmarshal(b, &out); err != nil || len(out) == 0 {
		t.Fatal(len(out), err)
	}
	return out
}

func unzip(t testing.TB, name string) []byte {
	t.Helper()
	f := expect.Value(os.Open(name))(t)
	defer f.Close()
	z, err := gzip.NewReader(f)
	expect.MustTrue(t, err == nil, "%v %v", name, err)
	b, err := io.ReadAll(z)
	expect.MustTrue(t, err == nil, "%v %v", name, err)
	return b
}

func parseNetwork(t testing.TB, text string, lmc int, down ...string) *network.Network {
	t.Helper()
	n, err := network.Parse(text, lmc)
	expect.Must(t, err)
	if n, err = n.Degrade(down); err != nil {
		t.Fatal(err)
	}
	return n
}

// load reads a table of OpenSM: lines "<switch> <port for LID 1> …", - for none.
func (r reference) load(t testing.TB) *lft.Tables {
	t.Helper()
	dir := filepath.Join("testdata", r.Topo, r.Scen)
	b := expect.Value(os.ReadFile(filepath.Join(dir, "down.txt")))(t)
	var down []string
	for _, l := range strings.Split(strings.TrimSpace(string(b)), "\n") {
		if l != "" {
			down = append(down, strings.ReplaceAll(l, " ", "/"))
		}
	}
	n := parseNetwork(t, notation[r.Topo], 0, down...)
	tables := lft.New(r.Eng, n)
	names := network.Names(n)
	in := bufio.NewScanner(bytes.NewReader(unzip(t, filepath.Join(dir, r.Eng+".lft.txt.gz"))))
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		f := strings.Fields(in.Text())
		s, err := names.Node(f[0])
		if err != nil || len(f) != n.MaxLID()+1 {
			t.Fatal(f[0], len(f), err)
		}
		for lid := 1; lid < len(f); lid++ {
			if f[lid] != "-" {
				fmt.Sscan(f[lid], &tables.Row(n.Index(s))[lid])
			}
		}
	}
	return tables
}

// TestReferences holds every figure against those that were taken from the same
// tables of OpenSM by another program.
func TestReferences(t *testing.T) {
	for _, r := range references(t) {
		t.Run(r.Topo+"/"+r.Scen+"/"+r.Eng, func(t *testing.T) {
			tables := r.load(t)
			ranks := expect.Value(network.Ranks(tables.Net, nil))(t)
			report := lft.Check(tables, lft.Options{Ranks: ranks})
			expect.True(t, report.Unreachable == r.Unreach && len(report.Hops)-1 == r.MaxLen && report.Pairs == int64(r.N)*int64(r.N-1),
				"%d of %d pairs unreachable, longest %d; want %d, %d", report.Unreachable, report.Pairs, len(report.Hops)-1, r.Unreach, r.MaxLen)
			expect.True(t, report.UpAfterDown == 0 && report.Loops == 0 && len(report.Offences) == 0 && report.DeadEntries == 0, "%+v", report)
			d := lft.Deadlock(tables)
			expect.True(t, !d.Free() == r.Cycle && d.Dependencies != 0, "%+v; want cycle %v", d, r.Cycle)
			c := lft.Congest(tables, lft.Shifts(r.N))
			expect.True(t, math.Abs(c.Slowdown-r.Slow) <= 1e-9 && c.Worst == r.Worst && c.Conflicts == r.Conflicts && c.Unreachable == 0,
				"%+v; want slowdown %v, worst %d, %d conflicts", c, r.Slow, r.Worst, r.Conflicts)
		})
	}
}

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
