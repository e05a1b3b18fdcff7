package judge

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"evbench/internal/answer"
	"evbench/internal/show"
	"evbench/scheduler"
	"evbench/site/network"
	"evbench/study/judge/foreign"
	"evbench/topology"
)

// Schema names the form of the JSON document.
const Schema = "evbench/judge/1"

// A Verdict is the result of Judge. Parts that do not apply are nil, and a note says why.
type Verdict struct {
	Schema  string `json:"schema"`
	Network string `json:"network"`
	Hosts   int    `json:"hosts"`
	// Adapters is how many adapters hosts have, 0 where each has one. Slots are ranks on a host, 0
	// where hosts have different numbers of adapters.
	Adapters int     `json:"adapters,omitempty"`
	Slots    int     `json:"ranks_a_host,omitempty"`
	Readers  int     `json:"readers,omitempty"` // 0: every server reads and builds
	Builders int     `json:"builders,omitempty"`
	Rate     float64 `json:"link_bit_per_s,omitempty"` // where it is known

	Measured *Measured `json:"measured,omitempty"`
	AtMost   *AtMost   `json:"at_most,omitempty"`
	Tables   *Tables   `json:"tables,omitempty"`
	Pairs    *Pairs    `json:"pairs,omitempty"` // of a result with a rate for each
	Rails    []Rail    `json:"rails,omitempty"`
	Dead     []string  `json:"dead_links"`           // of a tree
	Slow     []string  `json:"slow_links,omitempty"` // with what is left of their rate
	Repairs  []Repair  `json:"repairs,omitempty"`
	Rerouted []Tables  `json:"rerouted,omitempty"` // by other engines, the best first
	Ordered  *Ordered  `json:"ordered,omitempty"`
	Planned  *Planned  `json:"planned,omitempty"`
	Notes    notes     `json:"notes,omitempty"`
	Cases    []Case    `json:"cases,omitempty"` // of a run with several, all; the rest is of the worst
	// Guess says why shares of the link rate are guesses, "" where they are not.
	Guess string `json:"guess,omitempty"`

	exchange
	assumed  string // of the ranks of the result, what decides its figure: ", with one rank a host"
	doubt    string // of our own result, why its run does not tell
	slow     string // of our own result, who was slow in its run
	name     string // of the case, where there are several
	adaptive bool   // switches choose the way of each message
	good     Thresholds
	flags    []string // of Input
	again    []string

	// For a drawing: the network, its top switches where they were given, and the bound of its tree, nil without one.
	over  *fabric
	roots []network.Node
	bound *scheduler.Bound
}

// An exchange is what was judged, in numbers.
type exchange struct {
	slots    int    // ranks on an adapter
	unit     string // of link loads: routes or bytes
	servers  int    // adapters
	receives int64  // most messages that one of them receives
	each     int64  // messages that one of them sends, or receives
}

// A Case is one of several of a run.
type Case struct {
	Name     string         `json:"name"`
	Word     answer.Verdict `json:"verdict"`
	Sentence string         `json:"sentence"` // or why it has no verdict
	Verdict  *Verdict       `json:"-"`        // nil: it has none
}

// Measured is the result, as a share of the link rate and of the possible rate.
type Measured struct {
	What       string  `json:"what"`
	Given      bool    `json:"-"` // What is a number that was given, and nothing more
	Efficiency float64 `json:"efficiency"`
	OfAtMost   float64 `json:"of_at_most,omitempty"`
	OfPhased   float64 `json:"of_tables_phased,omitempty"`
	OfUnphased float64 `json:"of_tables_unphased,omitempty"`
	// Limit says why the true shares may be lower than these. "": they are not.
	Limit string `json:"upper_limit,omitempty"`
}

// Judge makes the verdict on an exchange, or on a network for it.
func Judge(in Input) (*Verdict, error) {
	f, err := fabricOf(in)
	if err != nil {
		return nil, err
	}
	v := newVerdict(f, in)
	if in.Good = v.good; v.adaptive && in.Tables != nil {
		in.Tables = nil
		v.Notes.add("adaptive routing: switches choose the way of each message, and the tables are not counted with")
	}
	if in.Tables != nil {
		if v.Tables, err = f.tables(in.Tables); err != nil {
			return nil, err
		}
		if v.Tables.Decides {
			f.sharers(v.Tables)
		}
	}
	if above := in.Whole.AboveNote(); above != "" && in.Hosts.Names == nil {
		v.Notes.add("%s", above)
	}
	in.Rate = v.rate(f, in.Rate)
	if err = v.fromTree(f, in.Result); err == nil {
		err = v.judgeResult(f, in)
	}
	if err != nil {
		return nil, within(in.ResultFile, err)
	}
	if v.Tables != nil {
		if o := f.ordered(v.Tables, in, &v.Notes); o != nil && v.better(o.Efficiency) {
			v.Ordered = o
		}
		v.Rerouted = f.rerouted(in, &v.Notes)
	}
	return v, nil
}

// newVerdict has what is judged, in numbers, and from where on it is good.
func newVerdict(f *fabric, in Input) *Verdict {
	v := &Verdict{
		Schema: Schema, Network: in.Name, Hosts: in.Hosts.Hosts(), Slots: in.Hosts.Slots, Dead: []string{}, Guess: in.Whole.Guess,
		flags: in.Flags, again: in.Again, adaptive: in.Net.Adaptive, over: f, roots: in.Roots,
	}
	usual := Usual
	if in.Result != nil && in.Result.Pairs != nil {
		usual.Exchange = cmp.Or(in.Good.Pairs, usual.Pairs) // pairs alone are no faster in an exchange
	}
	v.good = Thresholds{cmp.Or(in.Good.Exchange, usual.Exchange), cmp.Or(in.Good.Pairs, Usual.Pairs), cmp.Or(in.Good.Pair, Usual.Pair)}
	if v.servers, v.each, v.slots = len(in.Hosts.Nodes), f.traffic.most, v.Slots; v.Hosts < v.servers {
		v.Adapters, v.Slots = v.servers, 0
		if v.servers%v.Hosts == 0 {
			v.Slots = v.slots * v.servers / v.Hosts
		}
	}
	if v.unit = "routes"; in.Bytes != nil {
		v.unit = "bytes"
	}
	if v.receives = slices.Max(f.traffic.received); f.traffic.reads != nil {
		v.Readers, v.Builders = f.tree.Readers(), f.tree.Builders()
	}
	return v
}

// rate sets the rate of links: the stated one, or that of most hosts' cables.
func (v *Verdict) rate(f *fabric, stated float64) float64 {
	if stated > 0 && f.rate > 0 && math.Abs(stated/f.rate-1) > 0.01 {
		v.Notes.add("links are taken for %s, as you say; most cables of hosts state %s", show.Amount(stated, "bit/s"), show.Amount(f.rate, "bit/s"))
	}
	if v.Rate = cmp.Or(stated, f.rate); f.unstated > 0 {
		v.Notes.add("%s no rate that is known here: taken for as fast as others", show.Plural(f.unstated, "cable states", "cables state"))
	}
	return v.Rate
}

// fromTree adds the parts for the shape of a tree.
func (v *Verdict) fromTree(f *fabric, r *foreign.Result) error {
	t := f.tree
	if v.AtMost = f.ofRoutes(); v.AtMost != nil {
		v.Dead = append(v.Dead, f.deadCables()...)
		v.Notes.add("no repairs or plan: %v", f.why)
	} else if t == nil {
		v.Notes.add("no bound, repairs or plan: %v", f.why)
	}
	if t == nil {
		return nil
	}
	if names := t.DownNames(); len(names) > 0 {
		v.Dead = names
	}
	if err := sameDead(&t.Live, r); err != nil {
		return err
	}
	if t.Levels() == 2 && t.Servers() > boundHosts {
		v.Notes.add("no bound, repairs or plan: more than %d hosts", boundHosts)
		return nil
	}
	for _, note := range []string{f.gaps, f.places.AsBuilt()} {
		if note != "" {
			v.Notes.add("%s", note)
		}
	}
	faults := f.faults()
	v.Slow = slowNames(faults)
	v.AtMost, v.bound = f.atMost(faults, v.Rate, &v.Notes)
	v.Rails = f.rails(faults, v.Tables)
	v.Repairs = f.repairs(faults)
	if n := len(faults) - len(v.Repairs); n > 0 {
		v.Notes.add("the last %d of %d repairs are not ranked", n, len(faults))
	}
	v.Planned = f.planned(faults, &v.Notes)
	return nil
}

// sameDead checks that our own result was measured with the dead links of the tree.
func sameDead(t *topology.Live, r *foreign.Result) error {
	if r == nil || !r.DownKnown {
		return nil
	}
	var dead []topology.Link
	for _, name := range r.Down {
		links, err := t.Links(name)
		if err != nil {
			return fmt.Errorf("the result was measured with %s dead: %w", name, err)
		}
		dead = append(dead, links...)
	}
	slices.SortFunc(dead, topology.Link.Compare)
	dead = slices.Compact(dead)
	if slices.Equal(dead, t.Dead()) {
		return nil
	}
	name := func(l []topology.Link) string {
		if len(l) == 0 {
			return "no dead link"
		}
		return show.Few(slices.Compact(t.LinkNames(l))) + " dead"
	}
	return fmt.Errorf("the result was measured with %s, and the network has %s", name(dead), name(t.Dead()))
}

func (v *Verdict) judgeResult(f *fabric, in Input) (err error) {
	r := in.Result
	if r == nil {
		return nil
	}
	v.doubt, v.slow = r.Doubt, r.Slow
	v.Notes = append(v.Notes, r.Notes...)
	if r.Pairs != nil {
		if v.Pairs, err = f.pairs(in); err != nil {
			return err
		}
		if in.Tables == nil && !r.Pairs.Relative {
			v.Notes.add("without tables (--tables, --engine) slow pairs can have links of hosts in common only")
		}
	}
	return v.measure(in)
}

func (v *Verdict) measure(in Input) error {
	switch p := in.Result.Pairs; {
	case p == nil && in.Result.Seconds > 0 && !in.Result.Sized && in.Result.Hosts == nil && in.Result.OnHost == 0 && in.Hosts.Names == nil:
		v.assumed = ", with one rank a host"
		if v.Adapters > 0 {
			v.assumed = ", with one rank an adapter"
		}
	case p == nil:
	case !p.Shifts: // no exchange of all
		return nil
	case len(p.Names) != v.servers:
		v.Notes.add("no efficiency: %d ranks were measured, and the job has %s", len(p.Names), show.Plural(v.Hosts, "host", "hosts"))
		return nil
	case in.Rate <= 0:
		v.Notes.add("no efficiency: how fast the links are is not known (--rate)")
		return nil
	}
	e, err := v.efficiency(in)
	if err != nil {
		return err
	}
	m := &Measured{What: in.Result.What, Given: in.Result.Format == foreign.Number, Efficiency: e, Limit: in.Result.Limit}
	if v.Pairs != nil && v.Pairs.Above > 0 {
		m.Limit = "rates of pairs have bursts from buffers in them"
	}
	if a := v.AtMost; a != nil {
		m.OfAtMost = e / a.Efficiency
	}
	if most := v.most(m.Limit != ""); e > most*tooGood && v.Guess != "" && e <= tooGood {
		v.Notes.add("more was measured than the %.1f%% that the network could do by that guess: it has more cables than the file says, or faster ones", 100*most)
	} else if e > most*tooGood {
		return fmt.Errorf("%s is %.4g%% of the link rate, more than the %.1f%% that this network can do: check the rate, the size, the hosts and the dead links",
			in.Result.What, 100*e, 100*most)
	}
	if t := v.Tables; t != nil {
		if m.OfUnphased = e / t.Unphased; t.Phased > 0 {
			m.OfPhased = e / t.Phased
		}
	}
	v.Measured = m
	return nil
}

// most is the largest share of the link rate that can be measured. A mean over ranks may be above what the network
// can do, as some end before the last, but nothing is above the link of a host.
func (v *Verdict) most(limit bool) float64 {
	switch a := v.AtMost; {
	case limit:
		return 1
	case a == nil:
		return 1
	case a.whole: // without phases the last one need not be whole
		return float64(v.each) / max(float64(v.each), a.Phases-1)
	default:
		return a.Efficiency
	}
}

// efficiency returns the share of the link rate at which hosts receive.
func (v *Verdict) efficiency(in Input) (float64, error) {
	r, h, k := in.Result, float64(v.servers), float64(v.slots)
	if r.Ranks > 0 && r.Ranks != int(h*k) {
		return 0, fmt.Errorf("the result is of %d ranks, the hosts here have %d: --hosts says on which they ran, and how many on each", r.Ranks, int(h*k))
	}
	if r.Efficiency > 0 {
		return r.Efficiency, nil
	}
	if in.Rate <= 0 {
		return 0, errors.New("the result is a time or a rate: give the rate of the links with --rate")
	}
	if r.Pairs != nil {
		return phased(r.Pairs, in.Rate), nil
	}
	if r.HostRate > 0 {
		if v.Adapters%v.Hosts != 0 {
			return 0, errors.New("the result is the rate of a host, and hosts have different numbers of adapters: give a time, or a share of the link rate")
		}
		if v.Adapters > 0 && r.Format != foreign.Own { // of ours each adapter is a server
			return r.HostRate * float64(v.Hosts) / float64(v.Adapters) / in.Rate, nil
		}
		return r.HostRate / in.Rate * float64(v.each) / float64(v.receives), nil
	}
	if r.Sized {
		return float64(v.each) * 8 / (r.Seconds * in.Rate), nil
	}
	e := float64(v.each) * k * k * float64(r.Bytes) * 8 / (r.Seconds * in.Rate)
	if math.IsInf(e, 0) || math.IsNaN(e) {
		return 0, errors.New("the result is not a possible time of an exchange")
	}
	return e, nil
}

// phased returns the share of the link rate that a linear shift has with these rates, none above
// the link rate, with each phase as long as its slowest pair needs.
func phased(p *foreign.Pairs, rate float64) float64 {
	least := map[int]float64{}
	for _, x := range p.List {
		if r, ok := least[x.Group]; !ok || x.Rate < r {
			least[x.Group] = min(x.Rate, rate)
		}
	}
	time := 0.0
	for k := 1; k < len(p.Names); k++ {
		time += rate / least[k]
	}
	return float64(len(p.Names)-1) / time
}

func (m *Measured) above() bool { return m.Limit == "" && m.OfUnphased > tooGood }

// better reports whether an efficiency in phases is more than the present one: what was measured, what the tables give
// in phases, and, but for 3 % or two steps as in package order, what they allow at best without.
func (v *Verdict) better(x float64) bool {
	if m := v.Measured; m != nil && m.Limit == "" && x <= m.Efficiency*(1+1e-9) {
		return false
	}
	t, each := v.Tables, float64(v.each)
	return t == nil || x > t.Phased*(1+1e-9) && (x > t.Unphased || t.Phased > 0 && (1.03*x >= t.Unphased || each/x <= each/t.Unphased+2))
}
