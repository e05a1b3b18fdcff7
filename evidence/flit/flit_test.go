package main

import (
	"bytes"
	"context"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"evbench/testing/expect"
)

// TestReferees holds a few cases of both simulators to the tolerances: healthy and with a
// dead link, a FIFO and a queue per output, all kinds of routing.
func TestReferees(t *testing.T) {
	var cases []Case
	for _, name := range []string{"testdata/booksim2.csv", "testdata/omnet_ib_flit.csv"} {
		text := expect.Value(os.ReadFile(name))(t)
		more := expect.Value(read(name, bytes.NewReader(text)))(t)
		cases = append(cases, more...)
	}
	all := expect.Value(runAll(context.Background(), cases))(t)
	done := map[string]bool{}
	for _, k := range judged(all) {
		done[k.Case["case"]] = true
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
		if !done[c["case"]] {
			t.Errorf("%s: nothing of it is compared", c.name())
		}
	}
	compared := orders(all)
	expect.True(t, len(compared) >= 3, "%d orders are compared", len(compared))
	for _, o := range compared {
		if o.Out {
			t.Errorf("order of %s and %s: ours %.3f, theirs %.3f", o.A.name(), o.B.name(), o.Ours, o.Theirs)
		}
	}
}

func TestReadSaysWhere(t *testing.T) {
	text := expect.Value(os.ReadFile("testdata/omnet_ib_flit.csv"))(t)
	for _, c := range []struct{ old, new, want string }{
		{"shift(4)", "shaft(4)", `x.csv: line 2: traffic: "shaft(4)"`},
		{"dmodk", "dmodn", `x.csv: line 2: routing: "dmodn"`},
		{"ft44_healthy", "ft45", "x.csv: line 2: topology: "},
		{",800,", ",many,", `x.csv: line 2: buf_flits: "many"`},
		{"omnet_ib_flit", "ns3", `x.csv: line 2: sim: "ns3"`},
	} {
		_, err := read("x.csv", strings.NewReader(strings.Replace(string(text), c.old, c.new, 1)))
		expect.True(t, err != nil && strings.HasPrefix(err.Error(), c.want), "%s for %s: %v; want %s…", c.new, c.old, err, c.want)
	}
}

// TestSeveralLanes: of BookSim they are not compared; those of OMNeT's packets are.
func TestSeveralLanes(t *testing.T) {
	for _, c := range []struct {
		of   Case
		want bool
	}{{Case{"sim": booksim, "vcs": "1"}, true}, {Case{"sim": booksim, "vcs": "4"}, false}, {Case{"sim": omnet, "vls": "4"}, true}} {
		expect.True(t, c.of.comparable() == c.want, "%v: comparable is %v", c.of, !c.want)
	}
}

// seedsOf are seeds of a case that accept such shares of the link.
func seedsOf(c Case, shares ...float64) Runs {
	r := Runs{Case: c, CPU: time.Second}
	for _, x := range shares {
		r.Results = append(r.Results, &Result{Accepted: x})
	}
	return r
}

// TestOut: a figure beyond tolerance and noise is out.
func TestOut(t *testing.T) {
	for _, c := range []struct {
		ours, spread float64
		out          bool
	}{{0.51, 0, false}, {0.511, 0, true}, {0.511, 0.01, false}, {0.49, 0, false}, {0.48, 0.001, true}} {
		r := seedsOf(Case{}, c.ours-c.spread, c.ours, c.ours+c.spread)
		expect.Equal(t, check(&r, satUniform, accepted, 0.5).Out, c.out, "%v ± %v against 0.5: out", c.ours, c.spread)
	}
}

// TestLongMessagesOfferLess: sources that pause after messages of four packets accept 0.48 of
// the link at half load where no link is shared, and are held against the referee's, not
// against half of the link.
func TestLongMessagesOfferLess(t *testing.T) {
	c := Case{
		"sim": omnet, "case": "half", "topology": "ft44_healthy", "routing": "dmodk", "traffic": "shift(4)", "msg_packets": "4",
		"injection": "thinktime", "vls": "1", "buf_flits": "800", "packet_flits": "32", "max_parallel_reads": "3", "offered": "0.5",
		"warm_us": "50", "total_us": "550", "seed": "1",
	}
	r := expect.Value(simulate(c))(t)
	expect.True(t, r.Accepted >= 0.47 && r.Accepted <= 0.488, "%.4f of the link is accepted", r.Accepted)
	full := maps.Clone(c) // says where the sources saturate
	full["offered"], full["accepted"], c["accepted"] = "0.8", "0.745", "0.486"
	for _, k := range judged([]Runs{seedsOf(full, 0), seedsOf(c, r.Accepted-0.006, r.Accepted, r.Accepted+0.006)}) {
		expect.False(t, k.Case["offered"] == "0.5" && (k.Theirs != 0.486 || k.Out),
			"%s: ours %.4f, theirs %.4f, out is %v", k.Tolerance.Quantity, k.Ours, k.Theirs, k.Out)
	}
}
