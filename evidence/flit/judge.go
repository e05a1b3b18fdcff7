package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"evbench/evidence/loadcurve"
	"evbench/model/credit"
	"evbench/results"
)

// A Tolerance is the permitted difference of our result: a share of theirs plus an amount.
type Tolerance struct {
	Quantity string
	Share    float64
	Plus     float64 // cycles or ns
	Source   string  // row of COMPARING.md, or the origin of the semantics
}

// The quantities that are compared.
const (
	zeroLoad      = "zero-load latency"
	free          = "free of contention"
	freeBatch     = "exchange free of contention"
	shared        = "shared links, mean"
	sharedWorst   = "shared links, worst"
	below         = "accepted below saturation"
	belowLong     = "accepted below saturation, long messages"
	meanLatency   = "latency"
	satUniform    = "saturation, uniform"
	satShift      = "saturation, shift decided on the way"
	satSequence   = "saturation, sequences"
	satOMNeT      = "saturation, OMNeT"
	exchange      = "exchange that collides"
	fullLoadShare = 0.97 // of the offered load: a row that accepts less is saturated
)

var tolerances = []Tolerance{
	{zeroLoad + ", " + booksim, 0, 0, "zero-load latency: exact"},
	{zeroLoad + ", " + omnet, 0, 5, "zero-load latency: 5 ns"},
	{free, 0.002, 0, "contention-free permutations: 0.2 %"},
	{freeBatch, 0, 2, "one synchronous exchange: 2 cycles"},
	{shared, 0.005, 0, "permutations with a dead link: 0.5 % of the mean"},
	{sharedWorst, 0.02, 0, "permutations with a dead link: 2 % of the worst"},
	{below, 0.01, 0, "accepted = offered below 85 % of saturation: 1 %"},
	{belowLong, 0.01, 0, "accepted below 85 % of saturation: 1 %"},
	{meanLatency + ", " + booksim, 0.03, 0.3, "mean latency up to 60 % of saturation: 3 % + 0.3 cycles"},
	{meanLatency + ", " + omnet, 0.05, 0, "mean latency up to 60 % of saturation: OMNeT 5 %"},
	{satUniform, 0.02, 0, "saturation, one VL: 2 % (uniform)"},
	{satShift, 0.02, 0, "saturation, one VL: 2 %, as uniform"},
	{satSequence, 0.04, 0, "saturation, one VL: 4 % (shiftseq, randmsg)"},
	{satOMNeT, 0.04, 0, "OMNeT saturation, 128 and 800 flits: 4 %"},
	{exchange, 0.06, 0, "one exchange that collides: 6 %"},
}

// A Check compares a quantity of a case, ours and theirs.
type Check struct {
	Case         Case
	Tolerance    Tolerance
	Ours, Theirs float64
	// Noise is three standard deviations of the difference between the mean of our seeds and one
	// seed, such as theirs: of some hundred comparisons chance takes none beyond.
	Noise float64
	Out   bool
}

// Allowed returns the permitted difference of our result.
func (c *Check) Allowed() float64 { return c.Tolerance.Share*c.Theirs + c.Tolerance.Plus }

func check(r *Runs, quantity string, of quantity, theirs float64) Check {
	ours, spread := r.of(of)
	seeds := float64(len(r.Results))
	k := Check{Case: r.Case, Ours: ours, Theirs: theirs, Noise: 3 * spread * math.Sqrt(1+1/seeds)}
	if quantity == below { // theirs is the offered load; ours counts packets drawn at random
		packets := r.flits() / float64(r.Case.int("packet_flits"))
		k.Noise = 3 * max(spread/math.Sqrt(seeds), theirs/math.Sqrt(packets))
	}
	if i := slices.IndexFunc(tolerances, func(t Tolerance) bool { return t.Quantity == quantity }); i >= 0 {
		k.Tolerance = tolerances[i]
	}
	k.Out = !(math.Abs(ours-theirs) <= max(k.Allowed(), k.Noise)+1e-9)
	return k
}

func curve(c Case) string {
	var key []string
	for _, f := range []string{"sim", "topology", "routing", "traffic", "pipeline", "vcs", "vls",
		"buf_flits", "packet_flits", "max_parallel_reads", "msg_packets", "injection"} {
		key = append(key, c[f])
	}
	return strings.Join(key, " ")
}

// saturated reports whether the referee delivers less than the offered load.
func (c Case) saturated() bool {
	return c["offered"] != "batch" && (c.full() || c.number("accepted") < fullLoadShare*c.number("offered"))
}

// left reports whether COMPARING.md says not to compare a case: a bubble caps its rate.
func (c Case) left() bool {
	return c["sim"] == booksim && c.int("packet_flits") == 1 && c["pipeline"] == "default"
}

// judged makes the comparisons listed in COMPARING.md.
func judged(all []Runs) (checks []Check) {
	saturation := map[string]float64{} // of a curve: the least accepted by saturated cases
	for _, r := range all {
		if c, of := r.Case, curve(r.Case); c.saturated() {
			if s, ok := saturation[of]; !ok || c.number("accepted") < s {
				saturation[of] = c.number("accepted")
			}
		}
	}
	for i := range all {
		r := &all[i]
		add := func(quantity string, of quantity, theirs float64) {
			checks = append(checks, check(r, quantity, of, theirs))
		}
		switch c := r.Case; {
		case c.left():
		case c["offered"] == "batch":
			quantity := exchange
			if ideal := c.freeCycles(); math.Abs(c.number("batch_cycles")-ideal) < ideal*0.02 {
				quantity = freeBatch
			}
			add(quantity, batch, c.number("batch_cycles"))
		case c.saturated():
			c.judgeFull(add)
		default:
			s, ok := saturation[curve(c)]
			if !ok {
				s = 0.5 // no row says so; none of these networks saturates below
			}
			c.judgePart(s, add)
		}
	}
	return checks
}

// freeCycles returns the time of an exchange without collisions.
func (c Case) freeCycles() float64 {
	n, err := build(c["topology"])
	if err != nil {
		return 0
	}
	_, packets, _ := pattern(c["traffic"], n.Hosts())
	return float64((n.Hosts() - 1) * int(packets) * c.int("packet_flits"))
}

func (c Case) judgeFull(add func(string, quantity, float64)) {
	theirs := c.number("accepted")
	shift := c.full() && strings.HasPrefix(c["traffic"], "shift(")
	switch {
	case c.full() && c.permutation() && theirs > 0.99:
		add(free, accepted, theirs)
	case shift && choices[c["routing"]] != credit.First:
		add(satShift, accepted, theirs)
	case shift:
		add(shared, accepted, theirs)
		add(sharedWorst, worst, c.number("accepted_min_host"))
	case c["sim"] == omnet:
		if b := c.int("buf_flits"); b == 128 || b == 800 {
			add(satOMNeT, accepted, theirs)
		}
	case c["traffic"] == "uniform":
		add(satUniform, accepted, theirs)
	default:
		add(satSequence, accepted, theirs)
	}
}

func (c Case) judgePart(saturation float64, add func(string, quantity, float64)) {
	offered := c.number("offered")
	idle := c["sim"] == omnet && offered <= 0.05
	switch {
	case offered >= 0.85*saturation || idle:
	case c.paused() && c.int("msg_packets") > 1:
		add(belowLong, accepted, c.number("accepted"))
	default:
		add(below, accepted, c.expected())
	}
	switch {
	case offered > 0.6*saturation:
	case idle:
		add(zeroLoad+", "+omnet, latency, c.number("tail_latency_ns"))
	case c["sim"] == omnet:
		add(meanLatency+", "+omnet, latency, c.number("tail_latency_ns"))
	default:
		add(zeroLoad+", "+booksim, least, c.number("min_latency"))
		add(meanLatency+", "+booksim, latency, c.number("mean_latency"))
	}
}

// paused reports whether sources pause when the last flit of a message is made. A message longer
// than the queue of a host, which has room for a packet, is made only as fast as the link takes it:
// such sources offer less than configured, with four packets 0.48 for 0.5.
func (c Case) paused() bool { return c["sim"] == omnet && c["injection"] != "genrate" }

// expected returns the load offered by a case below saturation. The pauses of OMNeT's sources begin
// a flit's time before the generator could make the next message.
func (c Case) expected() float64 {
	offered := c.number("offered")
	if c.paused() {
		flits := float64(c.int("msg_packets") * c.int("packet_flits"))
		return 1 / (1/offered - float64(loadcurve.FDR().Host.Generate)/(flits*float64(loadcurve.FDRFlit)))
	}
	return offered
}

// An Order is two cases of which the referee finds one better by more than orderBy.
type Order struct {
	Of           string // the column in which they differ
	A, B         Case
	Ours, Theirs float64 // A over B, less 1
	Out          bool
}

const orderBy = 0.03

var orderFields = []string{"topology", "routing", "buf_flits"}

// orders compares the order of routings, of buffers, and of healthy and dead networks, for
// saturated throughput and for exchanges.
func orders(all []Runs) (orders []Order) {
	for i := range all {
		for j := i + 1; j < len(all); j++ {
			a, b := &all[i], &all[j]
			of, ok := differ(a.Case, b.Case)
			if !ok || a.Case.left() || b.Case.left() {
				continue
			}
			o := Order{Of: of, A: a.Case, B: b.Case}
			if a.Case["offered"] == "batch" {
				o.compare(a, b, batch, "batch_cycles")
			} else if a.Case.saturated() && b.Case.saturated() {
				o.compare(a, b, accepted, "accepted")
			}
			if math.Abs(o.Theirs) > orderBy {
				o.Out = o.Ours*o.Theirs <= 0
				orders = append(orders, o)
			}
		}
	}
	return orders
}

func (o *Order) compare(a, b *Runs, of quantity, field string) {
	x, _ := a.of(of)
	y, _ := b.of(of)
	o.Ours, o.Theirs = x/y-1, a.Case.number(field)/b.Case.number(field)-1
}

func differ(a, b Case) (of string, ok bool) {
	for _, f := range []string{"sim", "traffic", "pipeline", "vcs", "vls", "packet_flits", "max_parallel_reads",
		"msg_packets", "injection", "offered", "warmup_cycles", "measured_cycles", "warm_us", "total_us", "seed"} {
		if a[f] != b[f] {
			return "", false
		}
	}
	// Routings that differ only in taking the next live link are equal without dead links.
	rule := func(c Case) string { return strings.TrimSuffix(c["routing"], "-next") }
	for _, f := range orderFields {
		if a[f] == b[f] || f == "routing" && of == "topology" && rule(a) == rule(b) {
			continue
		}
		if of != "" || f == "topology" && !(strings.HasPrefix(a[f], "ft44") && strings.HasPrefix(b[f], "ft44")) {
			return "", false
		}
		of = f
	}
	return of, of != ""
}

// report prints each comparison, or with quiet only those out of tolerance, and a summary. It
// reports whether none is out of tolerance.
func report(w io.Writer, checks []Check, orders []Order, all []Runs, quiet bool) (passed bool) {
	passed = true
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "quantity\tours\ttheirs\toff\ttolerance\tnoise\tverdict\tcase")
	for i := range checks {
		k := &checks[i]
		passed = passed && !k.Out
		if k.Out || !quiet {
			k.print(t)
		}
	}
	t.Flush()
	for _, o := range orders {
		if o.Out {
			passed = false
			fmt.Fprintf(w, "order of %s: ours %+.1f %%, theirs %+.1f %%: %s against %s\n", o.Of, o.Ours*100, o.Theirs*100, o.A.name(), o.B.name())
		}
	}
	fmt.Fprintln(w)
	summary(w, checks, orders)
	speeds(w, all)
	return passed
}

func (c *Check) print(w io.Writer) {
	verdict := "ok"
	if c.Out {
		verdict = "OUT"
	}
	fmt.Fprintf(w, "%s\t%.5g\t%.5g\t%+.1f %%\t%.2g\t%.2g\t%s\t%s\n", c.Tolerance.Quantity, c.Ours, c.Theirs,
		(c.Ours/c.Theirs-1)*100, c.Allowed(), c.Noise, verdict, c.Case.name())
}

func summary(w io.Writer, checks []Check, orders []Order) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "quantity\tcompared\tout\tby noise only\tmedian off\tmost off\ttolerance")
	for _, of := range tolerances {
		var off []float64
		var out, noise int
		for _, k := range checks {
			if k.Tolerance != of {
				continue
			}
			off = append(off, math.Abs(k.Ours/k.Theirs-1)*100)
			switch {
			case k.Out:
				out++
			case math.Abs(k.Ours-k.Theirs) > k.Allowed():
				noise++
			}
		}
		if len(off) > 0 {
			fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%.1f %%\t%.1f %%\t%s\n", of.Quantity, len(off), out, noise, results.Middle(off), slices.Max(off), of.Source)
		}
	}
	for _, f := range orderFields {
		n, out := 0, 0
		for _, o := range orders {
			if o.Of == f {
				n++
				if o.Out {
					out++
				}
			}
		}
		if n > 0 {
			fmt.Fprintf(t, "order of %s\t%d\t%d\t\t\t\tsame sign where theirs differ by over %g %%\n", f, n, out, orderBy*100)
		}
	}
	t.Flush()
}

// speeds prints the median speed, in flits delivered in a second of processor time, beside
// the stated one, by simulator.
func speeds(w io.Writer, all []Runs) {
	for _, sim := range []string{booksim, omnet} {
		var ours, theirs, ratio []float64
		for i := range all {
			r := &all[i]
			stated, speed := max(r.Case.number("flits_per_cpu_s"), r.Case.number("flits_delivered_per_cpu_s")), r.flits()/r.CPU.Seconds()
			if r.Case["sim"] == sim && stated > 0 && r.CPU > 0 && speed > 0 {
				ours, theirs, ratio = append(ours, speed), append(theirs, stated), append(ratio, speed/stated)
			}
		}
		if len(ours) > 0 {
			fmt.Fprintf(w, "%s: median %.3g flits a second of processor; stated %.3g; pair by pair %.3g times (%.3g to %.3g)\n",
				sim, results.Middle(ours), results.Middle(theirs), results.Middle(ratio), slices.Min(ratio), slices.Max(ratio))
		}
	}
}
