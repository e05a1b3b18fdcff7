package plan_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"evbench/plan"
	"evbench/plan/verify"
	"evbench/topology"
	"evbench/topology/topologytest"
)

func compact(t testing.TB, p *plan.Plan) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := p.WriteCompact(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zip(t testing.TB, file []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(file); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// The compact form, packed or not, says what the text form says, to Read and to the
// judge.
func TestCompactRestores(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 4))
	var plans []*plan.Plan
	for m0 := 1; m0 <= 5; m0++ {
		for m1 := 1; m1 <= 5; m1++ {
			tr, ok := random(t, rng, m0, m1)
			if !ok {
				continue
			}
			for _, kind := range [][2]string{
				{"fors", "pinned"}, {"fors", "none"}, {"linear-shift", "ftree"}, {"linear-shift", "ecmp"}, {"bandwidth-optimal", "minhop"}, {"linear-shift", "spread"},
			} {
				plans = append(plans, build(t, tr, kind[0], kind[1]))
			}
		}
	}
	for _, fill := range [][]int{nil, {2, 1, 2, 1}} {
		for _, o := range []plan.Options{{Schedule: "fors"}, {Schedule: "linear-shift", Routing: "minhop"}, {Schedule: "bandwidth-optimal", Routing: "none"}} {
			p, err := plan.BuildPods(podsTree(t, topology.Options{Ports: 2, Leaves: 4, Pods: 2, Fill: fill}, "pod1-spine0-top1"), o)
			built(t, err)
			plans = append(plans, p)
		}
	}
	for _, p := range plans {
		text, _ := write(t, p)
		file := compact(t, p)
		same(t, p, restored(t, file))
		same(t, p, restored(t, zip(t, file)))
		same(t, p, restored(t, zip(t, text)))
		want, got := verdict(t, text), verdict(t, file)
		if packed := verdict(t, zip(t, file)); got != want || packed != want || !strings.Contains(want, "valid") {
			t.Fatalf("judged\n%s\nas text\n%s\npacked\n%s", got, want, packed)
		}
	}
}

// verdict returns what the judge says of a file.
func verdict(t testing.TB, file []byte) string {
	t.Helper()
	f, err := verify.Read(bytes.NewReader(file))
	if err != nil {
		t.Fatalf("%v\n%s", err, file)
	}
	var b strings.Builder
	if err := verify.Check(f, verify.Options{Bound: true, AllowContention: true}).WriteText(&b, "plan"); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A line is the neighbours of a leaf; runs end where destination or spine do not go on.
func TestCompactForm(t *testing.T) {
	healthy := build(t, topologytest.Tree(t, topology.Options{Ports: 4, Leaves: 2}), "linear-shift", "ftree")
	_, rows, _ := strings.Cut(string(compact(t, healthy)), "\n# hash ")
	_, rows, _ = strings.Cut(rows, "\n")
	const want = "0 0 1-3 4/0\n0 4 5-7 0/0\n1 0 2-3 4-5/0-1\n1 4 6-7 0-1/0-1\n2 0 3 4-6/0-2\n2 4 7 0-2/0-2\n3 0 4-7/0-3\n3 4 0-3/0-3\n"
	if !strings.HasPrefix(rows, want) {
		t.Errorf("got\n%swant\n%s", rows, want)
	}
	absent := build(t, topologytest.Tree(t, topology.Options{Ports: 3, Leaves: 2, Fill: []int{2, 3}}), "linear-shift", "ecmp")
	if file := string(compact(t, absent)); !strings.Contains(file, "\n0 0 1 3\n0 3 4-5 0\n") {
		t.Errorf("got\n%s", file)
	}
	empty := &plan.Plan{Tree: absent.Tree}
	if err := empty.WriteCompact(io.Discard); err == nil {
		t.Error("a plan without a schedule is written")
	}
}

const compactHead = "# evbench plan 1 compact\n# topology FT(2;2,2)\n# schedule x\n"

func TestCompactRefuses(t *testing.T) {
	for _, tt := range []struct{ name, file, want string }{
		{"no run", compactHead + "0 0\n", "line 4: no message; a row is"},
		{"no source", compactHead + "0\n", `src "" is not a number`},
		{"letters", compactHead + "0 0 x\n", `line 4: "x": a run is dst`},
		{"no spine", compactHead + "0 0 2/\n", `"2/": a run is`},
		{"backwards", compactHead + "0 0 3-2/0\n", `"3-2/0": a run is`},
		{"fewer spines", compactHead + "0 0 2-3/0\n", `"2-3/0": a run is`},
		{"more spines", compactHead + "0 0 2-3/0-2\n", `"2-3/0-2": a run is`},
		{"no top", compactHead + "0 0 2/0.\n", `"2/0.": a run is`},
		{"a top", compactHead + "0 0 2/0.1\n", "line 4, message 1: a top switch in a tree of two levels"},
		{"no server", compactHead + "0 0 2/0 7/1\n", "line 4, message 2: no server7 in this fabric"},
		{"endless", compactHead + "0 0 0-16777215\n", "line 4: more than 65548 messages"},
		{"no fabric", "# evbench plan 1 compact\n# topology FT(2;2,x)\n# schedule x\n0 0 1\n", "line 2: topology"},
		{"another form", "# evbench plan 1 tiny\n", `line 1: plan version "1 tiny"`},
		{"header late", compactHead + "0 0 1\n# routing none\n", "line 5: header lines come before"},
	} {
		if _, err := plan.Read(strings.NewReader(tt.file)); err == nil || !strings.Contains(err.Error(), tt.want) || strings.Count(err.Error(), "line ") != 1 {
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.want)
		}
	}
	if _, err := plan.ReadAtMost(strings.NewReader(compactHead+"0 0 1-3\n"), 2); err == nil || !strings.Contains(err.Error(), "line 4: more than 2 messages: there is no room") {
		t.Errorf("three messages where two have room: error %v", err)
	}
}

// Gzip that is cut off or damaged anywhere is an error, and none that blames the plan
// where the gzip is at fault.
func TestGzipDamage(t *testing.T) {
	text, doc := write(t, build(t, topologytest.Tree(t, topology.Options{Ports: 2, Leaves: 2}), "fors", ""))
	for _, whole := range [][]byte{text, doc} {
		file := zip(t, whole)
		for n := 2; n < len(file); n++ {
			if _, err := plan.Read(bytes.NewReader(file[:n])); err == nil || !strings.Contains(err.Error(), "the gzip data ends too early") {
				t.Fatalf("cut to %d of %d bytes: error %v", n, len(file), err)
			}
		}
		file[len(file)-5] ^= 1 // of the checksum
		if _, err := plan.Read(bytes.NewReader(file)); err == nil || !strings.Contains(err.Error(), "the gzip data is damaged") {
			t.Errorf("wrong checksum: error %v", err)
		}
		if _, err := plan.Read(bytes.NewReader(append(zip(t, whole), "more"...))); err == nil || !strings.Contains(err.Error(), "the gzip data") {
			t.Errorf("bytes after the end: error %v", err)
		}
	}
	if _, err := plan.Read(strings.NewReader("\x1f\x8bnonsense")); err == nil || !strings.Contains(err.Error(), "the gzip data") {
		t.Errorf("no gzip: error %v", err)
	}
	if _, err := plan.Read(bytes.NewReader(zip(t, nil))); err == nil || !strings.Contains(err.Error(), "empty: a plan file") {
		t.Errorf("an empty file, packed: error %v", err)
	}
}
