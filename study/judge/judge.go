// Package judge answers: is a measured all-to-all exchange good, for its network? It compares it
// with the most that the network with its dead links could do, and with the limit of forwarding
// tables. It ranks repairs, and predicts other tables and a planned schedule. The link rate is the
// rate of hosts' cables; efficiencies are shares of it at which hosts receive from each other.
// Slower links count with their own rate. The package opens no file and reads no clock.
package judge

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"evbench/internal/lists"
	"evbench/internal/show"
	"evbench/scheduler"
	"evbench/site/engines"
	"evbench/site/lft"
	"evbench/site/network"
	"evbench/study/judge/foreign"
	"evbench/topology"
	"evbench/view/parts"
)

// Schema names the form of the JSON document.
const Schema = "evbench/judge/1"

// An Input is the input of Judge.
type Input struct {
	Name       string           // of the network, for people
	Whole, Net *network.Network // with and without what is dead
	Roots      []network.Node   // top switches, nil where not given
	Hosts      network.Job
	// Readers and Builders are lists as topology.WithRoles takes them; "": all.
	Readers, Builders string
	Tables            *lft.Tables     // nil: none are judged
	Bytes             []int64         // what adapters send each other, by src·adapters + dst; nil: messages of one size
	Result            *foreign.Result // nil: none is judged
	Rate              float64         // of links, bit/s; 0: not known
	Good              Thresholds

	ResultFile, TablesFile string // for errors, "" where they are from none

	// Flags name the network, its dead parts and the hosts, for further commands.
	Flags []string
	Again []string // the flags of the result
}

// Thresholds say from which share on something is good; 0: as usual.
type Thresholds struct {
	Exchange float64 // the exchange, of the possible rate
	Pairs    float64 // the usual pair, of the link rate: one connection of TCP, or one process, does not fill a fast link
	Pair     float64 // a pair, of the usual one
}

// Usual are the usual thresholds.
var Usual = Thresholds{Exchange: 0.95, Pairs: 0.75, Pair: 0.8}

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
	Notes    []string  `json:"notes,omitempty"`
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
	drawing  *parts.Cables // nil: notDrawn says why
	notDrawn error
}

// An exchange is what was judged, in numbers.
type exchange struct {
	slots    int    // ranks on an adapter
	unit     string // of link loads: routes or bytes
	servers  int    // adapters
	receives int64  // most messages that one of them receives
	each     int64  // messages that one of them sends, or receives
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

// AtMost is the limit for all schedules and all tables.
type AtMost struct {
	Phases float64 `json:"phases,omitempty"` // of a whole link
	// ByteTimes is T*, where messages have sizes: the bytes that a link carries in that time.
	// Seconds is T*, where the rate is known.
	ByteTimes float64 `json:"byte_times,omitempty"`
	Seconds   float64 `json:"seconds,omitempty"`
	// Full is how many phases the exchange needs together with the messages inside hosts, which a
	// plan includes; 0 without such messages.
	Full       float64  `json:"full_exchange_phases,omitempty"`
	Efficiency float64  `json:"efficiency"`
	Witness    string   `json:"witness"` // as in plan files: server, leaf3, hall3, pod1, lp
	Why        string   `json:"why"`
	Healthy    float64  `json:"healthy_efficiency"` // without dead and slow links
	Weights    []Weight `json:"weights,omitempty"`  // of witness lp

	whole bool // of schedules in phases: without them the last need not be whole
}

const (
	planHosts  = 1024 // up to which a schedule is made and other engines are tried
	boundHosts = 8192 // up to which trees of two levels have a bound; those of three: planHosts
	tooGood    = 1.02 // times what is possible: more than what a measurement may be off
)

// Judge makes the verdict on an exchange, or on a network for it.
func Judge(in Input) (*Verdict, error) {
	f, err := fabricOf(in)
	if err != nil {
		return nil, err
	}
	v := newVerdict(f, in)
	if in.Good, v.adaptive = v.good, in.Net.Adaptive; v.adaptive && in.Tables != nil {
		in.Tables = nil
		v.note("adaptive routing: switches choose the way of each message, and the tables are not counted with")
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
		v.note("%s", above)
	}
	in.Rate = v.rate(f, in.Rate)
	b, err := v.fromTree(f, in.Result)
	if err == nil {
		err = v.judgeResult(f, in)
	}
	if err != nil {
		return nil, within(in.ResultFile, err)
	}
	v.order(f, in)
	v.reroute(f, in)
	v.drawing, v.notDrawn = f.drawing(v, in.Roots, b)
	return v, nil
}

// fabricOf is the network with the traffic of the exchange, of which the result is one.
func fabricOf(in Input) (*fabric, error) {
	f, err := newFabric(in.Whole, in.Net, in.Hosts)
	if err != nil {
		return nil, err
	}
	f.tablesFile = in.TablesFile
	if in.Readers != "" || in.Builders != "" {
		err = f.roles(in.Readers, in.Builders)
	}
	if err == nil && in.Bytes != nil {
		err = f.take(traffic{bytes: in.Bytes})
	}
	if err != nil {
		return nil, err
	}
	return f, within(in.ResultFile, f.sized(in.Result))
}

// newVerdict has what is judged, in numbers, and from where on it is good.
func newVerdict(f *fabric, in Input) *Verdict {
	v := &Verdict{Schema: Schema, Network: in.Name, Hosts: in.Hosts.Hosts(), Slots: in.Hosts.Slots, Dead: []string{}, Guess: in.Whole.Guess, flags: in.Flags, again: in.Again}
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
		v.note("links are taken for %s, as you say; most cables of hosts state %s", show.Amount(stated, "bit/s"), show.Amount(f.rate, "bit/s"))
	}
	if v.Rate = cmp.Or(stated, f.rate); f.unstated > 0 {
		v.note("%s no rate that is known here: taken for as fast as others", show.Plural(f.unstated, "cable states", "cables state"))
	}
	return v.Rate
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
			v.note("without tables (--tables, --engine) slow pairs can have links of hosts in common only")
		}
	}
	return v.measure(in)
}

func (v *Verdict) note(format string, a ...any) { v.Notes = append(v.Notes, fmt.Sprintf(format, a...)) }

// fromTree adds the parts for the shape of a tree. It returns the bound, nil without one.
func (v *Verdict) fromTree(f *fabric, r *foreign.Result) (*scheduler.Bound, error) {
	t := f.tree
	if v.AtMost = f.ofRoutes(); v.AtMost != nil {
		v.Dead = append(v.Dead, f.deadCables()...)
		v.note("no repairs or plan: %v", f.why)
	} else if t == nil {
		v.note("no bound, repairs or plan: %v", f.why)
	}
	if t == nil {
		return nil, nil
	}
	if names := t.DownNames(); len(names) > 0 {
		v.Dead = names
	}
	if err := sameDead(t, r); err != nil {
		return nil, err
	}
	if t.Levels() == 2 && t.Servers() > boundHosts {
		v.note("no bound, repairs or plan: more than %d hosts", boundHosts)
		return nil, nil
	}
	for _, note := range []string{f.gaps, f.places.AsBuilt()} {
		if note != "" {
			v.note("%s", note)
		}
	}
	faults := f.faults()
	v.Slow = slowNames(faults)
	b := v.bounded(f, faults)
	v.Rails = f.rails(faults, v.Tables)
	v.Repairs = f.order(faults)
	for i, p := range v.Repairs {
		v.Repairs[i].Efficiency = float64(v.each) / p.Phases
		if f.traffic.bytes != nil {
			v.Repairs[i].Phases, v.Repairs[i].ByteTimes = 0, p.Phases
		}
	}
	if n := len(faults) - len(v.Repairs); n > 0 {
		v.note("the last %d of %d repairs are not ranked", n, len(faults))
	}
	v.planned(f, faults)
	return &b.Bound, nil
}

// deadCables names what is dead in a network that is no tree.
func (f *fabric) deadCables() (names []string) {
	if f.inexact != nil {
		return f.inexact.Tree.DownNames()
	}
	for _, c := range f.whole.SwitchCables() {
		if !f.net.Has(c) {
			names = append(names, f.whole.CableName(c))
		}
	}
	return names
}

// bounded adds the limit of the tree.
func (v *Verdict) bounded(f *fabric, faults []fault) limit {
	b, s := f.bound(faults), float64(v.each)
	if f.coarse() {
		why := fmt.Sprintf("more than %d hosts", planHosts)
		if !f.traffic.plain() {
			why = "three levels, where not all send to all"
		}
		v.note("the bound is that of hosts, leaves and pods alone: %s", why)
	}
	v.AtMost = &AtMost{
		Phases: b.phases, Efficiency: s / b.phases, Witness: b.String(), Why: b.why,
		Healthy: s / f.bound(nil).phases, whole: b.whole, Weights: f.certificate(b.Bound),
	}
	if f.traffic.host != nil && f.traffic.bytes == nil && f.even && !f.coarse() {
		v.AtMost.Full = float64(scheduler.LowerBound(f.tree, scheduler.Options{}).Phases)
	}
	if f.traffic.bytes != nil {
		v.AtMost.Phases, v.AtMost.ByteTimes = 0, b.phases
		if v.Rate > 0 {
			v.AtMost.Seconds = b.phases * 8 / v.Rate
		}
	}
	return b
}

// sameDead checks that our own result was measured with the dead links of the tree.
func sameDead(t *topology.Tree, r *foreign.Result) error {
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

func (f *fabric) reason(b scheduler.Bound) string {
	t := f.tree
	s := t.Servers()
	switch b.Kind {
	case scheduler.KindServer:
		return fmt.Sprintf("the link of each host to its leaf is the limit, no uplink: it sends %s", show.Plural(s-1, "message, in one step", "messages, one a step"))
	case scheduler.KindLeaf:
		return fmt.Sprintf("%s: an exchange takes at least %d steps; %s", f.uplinks(b.At, t.ServersOn(b.At), "hosts"), b.Phases, f.deadOf(b.At))
	case scheduler.KindHall:
		m := lists.Sum(b.Subset, func(leaf int) int { return t.ServersOn(leaf) })
		n := t.ServersOn(b.At)
		return fmt.Sprintf("the %d hosts of %s have %d messages for %d leaves with which it shares few spines: %s",
			n, f.name(f.places.Node(b.At)), n*m, len(b.Subset), f.deadOf(append([]int{b.At}, b.Subset...)...))
	case scheduler.KindPod:
		return fmt.Sprintf("the hosts of pod %d have more messages for other pods than its live links carry in fewer phases", b.At)
	}
	return "no split of the messages over the links loads the fullest link less: " + f.deadOf(f.weighed(b)...)
}

// uplinks says how many servers of a leaf share how many live links to spines.
func (f *fabric) uplinks(leaf, servers int, who string) string {
	live, built := 0, f.built(leaf)
	for k := range f.tree.Spines() {
		live += f.tree.LiveCables(leaf, k)
	}
	text := show.Plural(live, "uplink", "uplinks")
	if live < built {
		text = fmt.Sprintf("%d of its %d uplinks", live, built)
	}
	ratio := float64(servers) / float64(max(live, 1))
	text = fmt.Sprintf("%s has %d %s and %s (%.3g:1", f.name(f.places.Node(leaf)), servers, who, text, ratio)
	if ratio > 1 {
		text += ", oversubscribed"
	}
	return text + ")"
}

// built is the number of links that a leaf has or had.
func (f *fabric) built(leaf int) (n int) {
	for l := range f.tree.UpLinks(leaf) {
		if !f.tree.Absent(l) {
			n++
		}
	}
	return n
}

// weighed returns the leaves with links that have weight in a bound of kind lp.
func (f *fabric) weighed(b scheduler.Bound) (leaves []int) {
	for leaf := range f.tree.Leaves() {
		for k := range f.tree.Spines() {
			if w := int(f.tree.Up(leaf, k)); w < len(b.Weights) && b.Weights[w] > 0 {
				leaves = append(leaves, leaf)
				break
			}
		}
	}
	return leaves
}

func (f *fabric) deadOf(leaves ...int) string {
	var names []string
	for _, l := range f.tree.Dead() {
		if !l.Above && slices.Contains(leaves, l.Leaf) && f.tree.CableOf(l)[0] == l {
			names = append(names, f.tree.LinkName(l))
		}
	}
	if len(names) == 0 {
		return "none of its links is dead"
	}
	return show.Few(names) + " dead"
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
		v.note("no efficiency: %d ranks were measured, and the job has %s", len(p.Names), show.Plural(v.Hosts, "host", "hosts"))
		return nil
	case in.Rate <= 0:
		v.note("no efficiency: how fast the links are is not known (--rate)")
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
		v.note("more was measured than the %.1f%% that the network could do by that guess: it has more cables than the file says, or faster ones", 100*most)
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

// alternatives are engines beside that of the tables.
var alternatives = []string{"ftree", "opensm-minhop", "dmodc", "dfsssp"}

func (v *Verdict) reroute(f *fabric, in Input) {
	switch {
	case in.Tables == nil:
		return
	case v.servers > planHosts:
		v.note("no other engine was tried: more than %d hosts", planHosts)
		return
	}
	for _, name := range alternatives {
		if name == in.Tables.Engine && in.TablesFile == "" { // these are its tables
			continue
		}
		t, err := engines.Compute(name, in.Net, engines.Options{Roots: in.Roots})
		if err != nil {
			v.note("not tried: %v", err)
			continue
		}
		out, err := f.tables(t)
		if err != nil {
			v.note("engine %s: %v", name, err)
			continue
		}
		out.Engine = name
		v.Rerouted = append(v.Rerouted, *out)
	}
	slices.SortStableFunc(v.Rerouted, func(a, b Tables) int {
		return cmp.Or(cmp.Compare(a.Phases, b.Phases), cmp.Compare(b.Unphased, a.Unphased))
	})
}
