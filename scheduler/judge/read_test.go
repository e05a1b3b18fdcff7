package judge_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"evbench/scheduler/judge"
	"evbench/testing/expect"
	"evbench/testing/topologytest"
)

const (
	head  = "# evbench plan 1\n# topology FT(2;2,2)\n"
	head3 = "# evbench plan 1\n# topology FT(3;2,2,2)\n"
)

// Hand-written plans may leave out what has a default, say a whole spine, be in
// any order and use any blanks; the hash is that of the canonical text.
func TestReadHandWritten(t *testing.T) {
	canonical := judgeHash(t, "# evbench plan 1\n# topology FT(2;2,2)\n# fill 2,2\n# down leaf0-spine1,leaf1-spine1\n0 0 1 -\n1 0 2 0\n1 3 1 0\n")
	for _, text := range []string{
		"\n## mine\n#  evbench  plan 1\n# down spine1\n# topology FT( 2; 2 ,2)\n# x-note anything\n\n1\t3  1 0\r\n## between\n0 0 1 -\n   \n 1 0 2 0",
		"# evbench plan 1\n# topology FT(2;2,2)\n# fill 2, 2\n# spines 2\n# down leaf1-spine1, leaf0-spine1, spine1\n1 0 2 0\n1 3 1 0\n0 0 1 -\n",
	} {
		got := judgeHash(t, text)
		expect.True(t, got == canonical, "hash %s, want %s of\n%s", got, canonical, text)
	}
}

// judgeHash returns the hash that the judge finds.
func judgeHash(t *testing.T, text string) string {
	t.Helper()
	f, err := judge.Read(strings.NewReader(text))
	expect.MustTrue(t, err == nil, "%v\n%s", err, text)
	expect.MustTrue(t, len(f.Messages) == 3 && f.Routing == "pinned" && f.Schedule == "", "%+v\n%s", f, text)
	f.Hash = "?"
	for _, o := range judge.Check(f, judge.Options{First: 100}).Offences {
		if _, h, ok := strings.Cut(o.Text, "canonical text has "); ok {
			return h
		}
	}
	t.Fatal("no hash found wrong")
	return ""
}

func TestReadErrors(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"empty", " \n ", "empty: a plan file starts with"},
		{"not a plan", "hello\n", `line 1: not a plan file: it starts with "# evbench plan 4"`},
		{"another file", "# something else\n", "line 1: not a plan file"},
		{"version", "\n# evbench plan 5\n", `line 2: plan version "5"; versions 1 to 4 are read`},
		{"compact", "# evbench plan 1 compact\n", `line 1: plan version "1 compact"; versions 1 to 4 are read`},
		{"JSON", `{"schema":"evbench/plan/1","topology":"FT(2;2,2)","messages":[]}`, "line 1: not a plan file"},
		{"no topology", "# evbench plan 1\n0 0 1 -\n", "no topology"},
		{"notation", "# evbench plan 1\n# topology 4x8\n", `line 2: topology "4x8": write FT(2;M0,M1)`},
		{"one server", "# evbench plan 1\n# topology FT(2;1,1)\n", "line 2: 1 servers"},
		{"too many servers", "# evbench plan 1\n# topology FT(2;254,4096)\n", "line 2: 1040384 servers: plans of at most 16384 are judged"},
		{"fill", head + "# fill 2,x\n", `line 3: fill "2,x": entry 1, "x", is not a number`},
		{"overfull", head + "# fill 2,3\n", "line 3: fill of leaf1 = 3: must be 0..2"},
		{"spines", head + "# spines 0\n", "line 3: 0 spines: must be at least 1"},
		{"spines not a number", head + "# spines many\n", `line 3: spines "many" is not a number`},
		{"too many spines", head + "# spines 999\n", "line 3: 999 spines: must be 1..254"},
		{"down", head + "# down leaf0-spine1,leaf9-spine0\n", `line 3: no link "leaf9-spine0"; FT(2;2,2) has leaf0..leaf1 and spine0..spine1`},
		{"routing", head + "# routing pined\n", `line 3: no routing "pined"; there are pinned, none, ftree`},
		{"phases", head + "# phases 0\n", "line 3: 0 phases: must be at least 1"},
		{"bound without witness", head + "# bound 3\n", `line 3: bound "3": write a number of phases and what proves it`},
		{"unknown witness", head + "# bound 3 luck\n", `line 3: no witness "luck"; there are server, leaf0..leaf1, hall0..hall1 and lp`},
		{"bound 0", head + "# bound 0 server\n", "line 3: a bound of 0 phases"},
		{"unknown header", head + "# colour red\n", `line 3: unknown header "colour"; there are topology, fill, spines, down, readers, builders, unreachable, schedule, routing, phases, bound, hash, x-…`},
		{"header twice", head + "# phases 3\n# phases 3\n", `line 4: header "phases" a second time, after line 3`},
		{"no value", head + "# down\n", `line 3: header "down" has no value`},
		{"no key", head + "#\n", "line 3: a header line without a key"},
		{"late header", head + "0 0 1 -\n# phases 3\n", `line 4: "# phases 3": header lines come before the first message`},
		{"three columns", head + "0 0 1\n", `line 3: "0 0 1": no path; a row is "phase src dst spine"`},
		{"five columns", head + "0 0 1 - 4\n", "line 3: \"0 0 1 - 4\": more than 4 columns"},
		{"word", head + "0 0 1 -\n0 a 1 -\n", `line 4: "0 a 1 -": src is not a number`},
		{"negative", head + "-1 0 1 -\n", "phase is not a number"},
		{"dash for dst", head + "0 0 - -\n", "dst is not a number"},
		{"run together", head + "0 0 1x -\n", "dst is not a number"},
		{"huge", head + "0 0 99999999999999999999 -\n", "dst is larger than 16777216"},
		{"spine too large", head + "0 0 1 32768\n", "spine is larger than 32767"},
		{"top on two levels", head + "0 0 2 1.0\n", `line 3: "0 0 2 1.0": spine is not a number`},
		{"top on two levels, later", head + "0 0 1 -\n0 2 0 1.0\n", `line 4: "0 2 0 1.0": spine is not a number`},
		{"top twice", head3 + "0 0 4 1.0.1\n", "top is not a number"},
		{"no top after the dot", head3 + "0 0 4 1.\n", "top is not a number"},
		{"no plane before the dot", head3 + "0 0 4 .1\n", "spine is not a number"},
		{"top without plane", head3 + "0 0 4 -.1\n", "spine is not a number"},
		{"top too large", head3 + "0 0 4 1.32768\n", "top is larger than 32767"},
		{"three levels, three columns", head3 + "0 0 4\n", `no path; a row is "phase src dst plane.top, without .top inside a pod"`},
		{"spines of three levels", head3 + "# spines 2\n", "line 3: a tree of three levels states its planes in the topology: PGFT(3;"},
		{"fill of three levels", head3 + "# fill 2,2\n", "line 3: fill names 2 leaves, the tree has 4"},
		{"down of three levels", head3 + "# down pod2-spine0-top0\n", `line 3: no link "pod2-spine0-top0"`},
		{"spines twice", "# evbench plan 1\n# topology PGFT(2;4,8;1,6;1,1)\n# spines 5\n", "line 3: 5 spines, but the topology PGFT(2;4,8;1,6;1,1) has 6"},
		{"too many top links", "# evbench plan 1\n# topology PGFT(3;2,1,4096;1,254,254;1,1,1)\n", "line 2: 4096 pods, 254 planes, 254 top switches in each: plans of at most 1048576 links between them are judged"},
		{"too many entries", "# evbench plan 1\n# topology PGFT(3;4,1,4096;1,254,1;1,1,1)\n", "line 2: 4096 pods, 254 planes and 16384 servers: plans of at most 67108864 forwarding table entries are judged"},
		{"unreachable, no pair", head + "# unreachable leaf0\n", `line 3: "leaf0" is not a pair of leaves (leaf0-leaf3)`},
		{"unreachable, one leaf", head + "# unreachable leaf1-leaf1\n", `line 3: "leaf1-leaf1" is one leaf, not a pair`},
		{"unreachable, no leaf", head + "# unreachable leaf0-leaf2\n", "line 3: no leaf2; there are leaf0..leaf1"},
		{"unreachable twice", head + "# unreachable leaf0-leaf1,leaf1-leaf0\n", "line 3: leaf0-leaf1 is listed twice"},
		{"pod witness of two levels", head + "# bound 3 pod0\n", `line 3: no witness "pod0"`},
		{"set of a leaf witness", head + "# bound 3 leaf0 leaf1\n", "line 3: a set of leaves is part of a hall witness, not of leaf0"},
		{"set of no leaves", head + "# bound 3 hall0 spine1\n", `line 3: "spine1" is not a leaf (leaf3)`},
		{"weight off the tree", head + "# bound 3 lp leaf7-spine0/up=1\n", `line 3: no link "leaf7-spine0"`},
		{"weight on a spine", head + "# bound 3 lp spine0/up=1\n", `line 3: "spine0" is not a link`},
		{"direction", head + "# bound 3 lp leaf0-spine0/left=1\n", `line 3: direction "left": must be up`},
		{"weight twice", head + "# bound 3 lp leaf0-spine0/up=1,leaf0-spine0/up=1\n", "line 3: leaf0-spine0 up has a weight already"},
		{"no weight", head + "# bound 3 lp leaf0-spine0/up\n", `line 3: "leaf0-spine0/up": write a link, a direction and a weight`},
		{"endless", head + strings.Repeat("0 0 1 -\n", 70000), "line 65563: more than 65560 messages; all pairs of 4 servers are 12"},
		{"long line", head + "# x-" + strings.Repeat("a", 1<<22) + "\n", "line 3: longer than 4194304 bytes"},
	} {
		_, err := judge.Read(strings.NewReader(tt.text))
		expect.Error(t, err, tt.want)
	}
}

func TestReadWithin(t *testing.T) {
	expect.Error(t, expect.Err(judge.ReadWithin(strings.NewReader(head+"0 0 1 -\n0 1 2 0\n0 2 3 -\n"), 2*judge.MessageBytes)), "more than 2 rows: there is no space")
}

func zip(t testing.TB, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := io.WriteString(z, text)
	if err = errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A packed file is read; one that is cut off or damaged anywhere is an error about that.
func TestReadGzip(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 9))
	refused := func(why string, file []byte, want string) {
		t.Helper()
		expect.Error(t, expect.Err(judge.Read(bytes.NewReader(file))), want)
	}
	for _, d := range drafts(t, 2, 3) {
		file := zip(t, d.text())
		got, err := judge.Read(iotest.OneByteReader(bytes.NewReader(file)))
		expect.MustTrue(t, err == nil && reflect.DeepEqual(got.Messages, read(t, d.text()).Messages), "error %v", err)
		for n := 2; n < len(file); n++ {
			refused(fmt.Sprintf("cut to %d of %d bytes", n, len(file)), file[:n], "the gzip data ends too early")
		}
		refused("bytes after the end", append(zip(t, d.text()), "more"...), "the gzip data")
		file[len(file)-8+rng.IntN(8)] ^= 1 // of checksum and length
		refused("damaged", file, "the gzip data is damaged")
	}
	refused("an empty file", zip(t, ""), "empty: a plan file")
	refused("no gzip", []byte("\x1f\x8bnonsense"), "the gzip data")
}

// A reader that fails is not a plan that ends.
func TestReadPassesReadErrors(t *testing.T) {
	broken := errors.New("disk on fire")
	for _, text := range []string{"", head + "0 0 1 -\n"} {
		_, err := judge.Read(io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken)))
		expect.True(t, errors.Is(err, broken), "after %q: error %v, want %v", text, err, broken)
	}
}

// What Read states is what the file states.
func TestReadStates(t *testing.T) {
	d := greedy("dead", topologytest.Without(t, optionsOf(2, 3)))
	f := expect.Value(judge.Read(strings.NewReader(d.text())))(t)
	if f.Schedule != "test" || f.Routing != "pinned" || f.Phases != d.phases || fmt.Sprint(f.Bound.Value, " ", f.Bound.Kind) != d.bound ||
		f.Hash != d.stated() || f.Tree.Notation() != "FT(2;2,3)" || len(f.Messages) != len(d.messages) {
		t.Errorf("%+v", f)
	}
}

// However a plan is cut into reads and however its numbers are spaced, it is the
// same plan: what is read quickly and what is read with care agree.
func TestReadQuicklyAndWithCare(t *testing.T) {
	for _, d := range append(drafts(t, 3, 4), podDrafts(t, 2, 2, 3)...) {
		want := read(t, d.text())
		loose := d.fabric() + strings.NewReplacer(" ", "\t ", "\n", " \r\n\n## x\n").Replace(d.body())
		for i, text := range []string{d.text(), "# evbench plan 1\n" + loose} {
			for name, r := range map[string]io.Reader{
				"whole": strings.NewReader(text), "bytes": iotest.OneByteReader(strings.NewReader(text)), "halves": iotest.HalfReader(strings.NewReader(text)),
			} {
				f := expect.Value(judge.Read(r))(t)
				got := slices.Clone(f.Messages)
				slices.SortFunc(got, inOrder)
				sorted := slices.Clone(want.Messages)
				slices.SortFunc(sorted, inOrder)
				expect.True(t, slices.Equal(got, sorted), "form %d read in %s of %s %s: other messages", i, name, d.tree.Notation(), d.kind)
			}
		}
	}
}

func inOrder(a, b judge.Message) int {
	return cmp.Or(cmp.Compare(a.Phase, b.Phase), cmp.Compare(a.Src, b.Src), cmp.Compare(a.Dst, b.Dst))
}

// Errors name the line also far into a file that is read quickly.
func TestReadErrorsFarIn(t *testing.T) {
	d := shift(t, 8, 8)
	lines := strings.SplitAfter(d.text(), "\n")
	lines[4000] = "1 2 3\n"
	if _, err := judge.Read(strings.NewReader(strings.Join(lines, ""))); err == nil || !strings.HasPrefix(err.Error(), `line 4001: "1 2 3": no path`) {
		t.Error(err)
	}
}

// A routing that is not known is refused, unless it is handed in: then its tables take one path from a leaf to each destination.
func TestReadEngines(t *testing.T) {
	text := func(spine string) string {
		return head + "# schedule mine\n# routing mine\n0 0 2 0\n1 1 2 " + spine + "\n"
	}
	expect.Error(t, expect.Err(judge.Read(strings.NewReader(text("0")))), `line 4: no routing "mine"`)
	for spine, differs := range map[string]bool{"0": false, "1": true} {
		f := expect.Value(judge.Read(strings.NewReader(text(spine)), "theirs", "mine"))(t)
		r := judge.Check(f, judge.Options{First: 100, AllowContention: true})
		found := slices.ContainsFunc(r.Offences, func(o judge.Offence) bool { return o.Kind == judge.Inconsistent })
		expect.Equal(t, found, differs, "two spines of a table entry, %s", spine)
	}
}
