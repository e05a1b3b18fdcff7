package main

import (
	"math"
	"slices"
	"strings"

	"evbench/sim/credit"
)

// A Tolerance is how far ours may be off: a share of theirs and an amount beside it.
type Tolerance struct {
	Quantity string
	Share    float64
	Plus     float64 // cycles or ns
	Source   string  // row of COMPARING.md, or whose semantics
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
	fullLoadShare = 0.97 // of what is offered: a row that accepts less is saturated
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

// A Check is a quantity of a case, ours beside theirs.
type Check struct {
	Case         Case
	Tolerance    Tolerance
	Ours, Theirs float64
	// Noise is three standard deviations of the difference between the mean of our seeds
	// and one seed, which theirs is: of some hundred comparisons chance takes none beyond.
	Noise float64
	Out   bool
}

// Allowed returns how far ours may be off.
func (c *Check) Allowed() float64 { return c.Tolerance.Share*c.Theirs + c.Tolerance.Plus }

func check(r *Runs, quantity string, of quantity, theirs float64) Check {
	ours, spread := r.of(of)
	seeds := float64(len(r.Results))
	k := Check{Case: r.Case, Ours: ours, Theirs: theirs, Noise: 3 * spread * math.Sqrt(1+1/seeds)}
	if quantity == below { // theirs is what is offered; ours counts packets drawn at random
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

// saturated reports whether the referee delivers less than is offered.
func (c Case) saturated() bool {
	return c["offered"] != "batch" && (c.full() || c.number("accepted") < fullLoadShare*c.number("offered"))
}

// left reports whether COMPARING.md says not to compare a case: a bubble caps its rate.
func (c Case) left() bool {
	return c["sim"] == booksim && c.int("packet_flits") == 1 && c["pipeline"] == "default"
}

// judged compares what COMPARING.md lists.
func judged(all []Runs) (checks []Check) {
	saturation := map[string]float64{} // of a curve: the least that saturated cases accept
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

// freeCycles returns how long an exchange takes in which nothing collides.
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

// paused reports whether sources pause when the last flit of a message is made. One that is
// longer than the queue of a host, which has room for a packet, is made no faster than the link
// takes it: such sources offer less than they are told, with four packets 0.48 for 0.5.
func (c Case) paused() bool { return c["sim"] == omnet && c["injection"] != "genrate" }

// expected returns what a case below saturation offers. The pauses of OMNeT's sources
// begin a flit's time before the generator could make the next message.
func (c Case) expected() float64 {
	offered := c.number("offered")
	if c.paused() {
		flits := float64(c.int("msg_packets") * c.int("packet_flits"))
		return 1 / (1/offered - float64(credit.FDR().Host.Generate)/(flits*float64(credit.FDRFlit)))
	}
	return offered
}

// An Order is two cases of which the referee says that one is better by more than orderBy.
type Order struct {
	Of           string // the column in which they differ
	A, B         Case
	Ours, Theirs float64 // A over B, less 1
	Out          bool
}

const orderBy = 0.03

var orderFields = []string{"topology", "routing", "buf_flits"}

// orders compares the order of routings, buffers, and healthy against dead, of saturated
// throughput and of exchanges.
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
	// Routings of which one takes the next live link are the same where no link is dead.
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
