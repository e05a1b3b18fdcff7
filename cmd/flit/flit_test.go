package main

import (
	"bytes"
	"context"
	"maps"
	"os"
	"strings"
	"testing"
	"time"
)

func testCases(t *testing.T) (columns []string, cases []Case) {
	t.Helper()
	for _, name := range []string{"testdata/booksim2.csv", "testdata/omnet_ib_flit.csv"} {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		header, more, err := Read(name, f)
		if err != nil {
			t.Fatal(err)
		}
		columns, cases = append(columns, header...), append(cases, more...)
	}
	return columns, cases
}

func noClock() time.Duration { return 0 }

// TestReferees holds a few cases of both simulators to the tolerances: healthy and with a
// dead link, a FIFO and a queue per output, all kinds of routing.
func TestReferees(t *testing.T) {
	_, cases := testCases(t)
	all, err := RunAll(context.Background(), cases, 3, noClock)
	if err != nil {
		t.Fatal(err)
	}
	checks := Judge(all)
	judged := map[string]bool{}
	for i := range checks {
		k := &checks[i]
		judged[k.Case["case"]] = true
		if k.Out {
			var line bytes.Buffer
			k.print(&line)
			t.Error(line.String())
		}
		if k.Tolerance.Source == "" {
			t.Errorf("%s: %+v has no tolerance", k.Case["case"], k)
		}
	}
	for _, c := range cases {
		if !judged[c["case"]] {
			t.Errorf("%s: nothing of it is compared", c.name())
		}
	}
	orders := Orders(all)
	if len(orders) < 3 {
		t.Errorf("%d orders are compared", len(orders))
	}
	for _, o := range orders {
		if o.Out {
			t.Errorf("order of %s and %s: ours %.3f, theirs %.3f", o.A.name(), o.B.name(), o.Ours, o.Theirs)
		}
	}
}

// TestSameBytes: what is written depends on the cases only.
func TestSameBytes(t *testing.T) {
	columns, cases := testCases(t)
	var written [2]bytes.Buffer
	for i := range written {
		all, err := RunAll(context.Background(), cases[len(cases)-4:], 1, noClock)
		if err != nil {
			t.Fatal(err)
		}
		if err := Write(&written[i], columns, all); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(written[0].Bytes(), written[1].Bytes()) {
		t.Errorf("two runs differ:\n%s\n%s", &written[0], &written[1])
	}
}

func TestReadSaysWhere(t *testing.T) {
	text, err := os.ReadFile("testdata/omnet_ib_flit.csv")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, new, want string }{
		{"shift(4)", "shaft(4)", `x.csv: line 2: traffic: "shaft(4)"`},
		{"dmodk", "dmodn", `x.csv: line 2: routing: "dmodn"`},
		{"ft44_healthy", "ft45", "x.csv: line 2: topology: "},
		{",800,", ",many,", `x.csv: line 2: buf_flits: "many"`},
		{"omnet_ib_flit", "ns3", `x.csv: line 2: sim: "ns3"`},
	} {
		_, _, err := Read("x.csv", strings.NewReader(strings.Replace(string(text), c.old, c.new, 1)))
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s for %s: %v; want %s…", c.new, c.old, err, c.want)
		}
	}
}

// TestSeveralLanes: of BookSim they are not compared; those of OMNeT's packets are.
func TestSeveralLanes(t *testing.T) {
	for _, c := range []struct {
		of   Case
		want bool
	}{{Case{"sim": BookSim, "vcs": "1"}, true}, {Case{"sim": BookSim, "vcs": "4"}, false}, {Case{"sim": OMNeT, "vls": "4"}, true}} {
		if Comparable(c.of) != c.want {
			t.Errorf("%v: comparable is %v", c.of, !c.want)
		}
	}
}

// TestOut: a figure beyond tolerance and noise is out.
func TestOut(t *testing.T) {
	r := &Runs{Case: Case{"case": "x"}, Seeds: 4}
	for _, c := range []struct {
		ours, spread float64
		out          bool
	}{{0.51, 0, false}, {0.511, 0, true}, {0.511, 0.01, false}, {0.49, 0, false}, {0.48, 0.001, true}} {
		if k := check(r, satUniform, c.ours, 0.5, c.spread); k.Out != c.out {
			t.Errorf("%v ± %v against 0.5: out is %v", c.ours, c.spread, k.Out)
		}
	}
}

// TestLongMessagesOfferLess: sources that pause after messages of four packets accept 0.48 of
// the link at half load where no link is shared, and are held against the referee's, not
// against half of the link.
func TestLongMessagesOfferLess(t *testing.T) {
	c := Case{
		"sim": OMNeT, "case": "half", "topology": "ft44_healthy", "routing": "dmodk", "traffic": "shift(4)", "msg_packets": "4",
		"injection": "thinktime", "vls": "1", "buf_flits": "800", "packet_flits": "32", "max_parallel_reads": "3", "offered": "0.5",
		"warm_us": "50", "total_us": "550", "seed": "1",
	}
	r, err := Run(c)
	if err != nil {
		t.Fatal(err)
	}
	if r.Accepted < 0.47 || r.Accepted > 0.488 {
		t.Errorf("%.4f of the link is accepted", r.Accepted)
	}
	full := maps.Clone(c) // says where the sources saturate
	full["offered"], full["accepted"], c["accepted"] = "0.8", "0.745", "0.486"
	for _, k := range Judge([]Runs{{Case: full, Seeds: 1}, {Case: c, Mean: *r, Spread: Result{Accepted: 0.006}, Seeds: 1}}) {
		if k.Case["offered"] == "0.5" && (k.Theirs != 0.486 || k.Out) {
			t.Errorf("%s: ours %.4f, theirs %.4f, out is %v", k.Tolerance.Quantity, k.Ours, k.Theirs, k.Out)
		}
	}
}
