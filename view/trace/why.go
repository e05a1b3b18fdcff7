package trace

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"evbench/builder/modes"
	"evbench/internal/lists"
	"evbench/plan"
	"evbench/results"
	"evbench/results/attribution"
	"evbench/results/culprit"
	"evbench/scheduler"
	"evbench/topology"
)

// A Why explains the difference between the predicted and the measured time of a case, in seconds
// per exchange. Without phases an exchange is an event of a server.
type Why struct {
	of        results.Case
	untraced  bool    // all but Predicted, Measured and Causes is not known
	Case      string  `json:"case"`
	Slices    int     `json:"slices"`    // traced; 0: none was
	Exchanges int     `json:"exchanges"` // complete in the trace
	Servers   int     `json:"servers"`
	Predicted float64 `json:"predicted_s"` // an exchange, by the load of the busiest link
	Measured  float64 `json:"measured_s"`
	// Barriers is from the end of the last transfer of a phase until all have left its barrier.
	// Transfers is the time of messages beyond the prediction, summed over phases. Both are 0
	// without phases.
	Barriers  float64 `json:"barriers_s"`
	Transfers float64 `json:"transfers_s"`
	// Longest is the exchange that took longest; nil without phases.
	Longest *Longest `json:"longest,omitempty"`
	// Causes are who is slow; none where nobody is.
	Causes []attribution.Cause `json:"causes,omitempty"`
	// Tokens is how long a server's send port was idle, waiting for tokens, in an exchange, the
	// mean over servers, assuming equal fragments; 0 unless the case is ordered.
	Tokens float64 `json:"tokens_s,omitempty"`

	Phases []PhaseCost `json:"phases,omitempty"` // those that took most longer, first
	Pairs  []PairCost  `json:"pairs"`            // likewise, by the time of a fragment
}

// A Longest is an exchange, and the link events between its begin and end.
type Longest struct {
	Exchange uint64              `json:"exchange"`
	Begin    float64             `json:"begin_s"`
	Sec      float64             `json:"s"`
	Events   []results.LinkEvent `json:"link_events,omitempty"`
}

// A PhaseCost is a phase, counted from 0: its measured and predicted transfers, and its barrier,
// which has no prediction.
type PhaseCost struct {
	Phase     int     `json:"phase"`
	Measured  float64 `json:"measured_s"`
	Predicted float64 `json:"predicted_s"`
	Barrier   float64 `json:"barrier_s"`
	// Last is the pair whose fragment most often came last. Of is how often.
	Last PairOf  `json:"last"`
	Of   float64 `json:"of"` // 0..1
}

// A PairOf is a source and a destination, positions.
type PairOf struct {
	Src int `json:"src"`
	Dst int `json:"dst"`
}

// A PairCost is the mean time of a fragment of one pair, and the usual time.
type PairCost struct {
	PairOf
	Measured  float64 `json:"measured_s"`
	Predicted float64 `json:"predicted_s"` // by the plan; without phases: the median over all pairs
	Path      string  `json:"path,omitempty"`
	// Tokens is the mean time for which the sender was idle before, waiting for tokens; 0 unless
	// the case is ordered.
	Tokens float64 `json:"tokens_s,omitempty"`
}

// A way is a pair with the spine of its fragment in the trace; -1: the spine of the plan.
type way struct {
	PairOf
	spine int
}

func (x way) compare(y way) int { return cmp.Or(x.Src-y.Src, x.Dst-y.Dst, x.spine-y.spine) }

func (p PhaseCost) longer() float64 { return p.Measured + p.Barrier - p.Predicted }

// Most is how many phases, pairs and links a Why has.
const Most = 5

// An account is a Why in the making.
type account struct {
	Why
	plan     *plan.Plan // nil: paths are not known
	traced   bool       // paths are those that the trace says
	tree     *topology.Tree
	ranks    map[int]int        // by position
	builders int                // servers that build
	fragment float64            // seconds that one takes alone
	expect   map[PairOf]float64 // seconds that a pair's fragment should take
	pairs    measures           // what it took
	waited   measures           // for tokens
	byPhase  [][]float64
	barriers [][]float64
	last     []map[PairOf]int
	ideal    []float64 // [phase] seconds
}

func mean(of []float64) float64 {
	return lists.Sum(of, func(x float64) float64 { return x }) / float64(max(1, len(of)))
}

type measures map[way][]float64

func (all measures) add(w way, sec float64) { all[w] = append(all[w], sec) }

// Untraced says of a case without a trace how long its exchanges took, and who is slow, if its run names anybody.
func Untraced(c results.Case, efficiency float64, vouched bool) *Why {
	w := &Why{of: c, untraced: true, Case: c.Name, Pairs: []PairCost{}}
	if vouched {
		w.Causes = c.Causes
	}
	if efficiency > 0 && c.EventsPerSec.Mean > 0 {
		w.Measured = 1 / c.EventsPerSec.Mean
		w.Predicted = w.Measured * c.MeasuredEfficiency / efficiency
	}
	return w
}

// Explain compares the trace of a case with its prediction. c is its summary, efficiency the
// predicted one, p its plan; without phases p may be nil: links are then not known. For an ordered
// case only the plan's tree matters.
func Explain(all []*Slice, c results.Case, efficiency float64, p *plan.Plan) (*Why, error) {
	a := &account{Why: Why{Case: c.Name, of: c}, plan: p, expect: map[PairOf]float64{}, pairs: measures{}, waited: measures{}}
	all = slices.DeleteFunc(slices.Clone(all), func(s *Slice) bool { return s.Case != c.Name })
	if len(all) == 0 {
		return nil, fmt.Errorf("case %q has no spans", c.Name)
	}
	for _, s := range all {
		a.Servers = max(a.Servers, len(s.Servers()))
	}
	if a.Slices = len(all); a.Servers < 2 || efficiency <= 0 || c.MeasuredEfficiency <= 0 || c.EventsPerSec.Mean <= 0 {
		return nil, fmt.Errorf("case %q: without a link rate nothing was predicted", c.Name)
	}
	a.Measured = 1 / c.EventsPerSec.Mean
	a.Predicted = a.Measured * c.MeasuredEfficiency / efficiency
	most := a.Servers - 1 // fragments of the busiest server in an exchange
	if a.builders = a.Servers; c.Roles != nil {
		most, a.builders = max(c.Roles.Readers, c.Roles.Builders), c.Roles.Builders
	}
	if c.Roles != nil && p != nil {
		most = p.Tree.MostMessages()
	}
	a.fragment = a.Measured * c.MeasuredEfficiency / float64(most)
	if p != nil {
		a.tree, a.ranks = p.Tree, map[int]int{}
		for r := range p.Tree.Servers() {
			a.ranks[p.Tree.Position(r)] = r
		}
	}
	var err error
	switch c.Mode {
	case modes.Sync:
		err = a.phases(all)
		a.during(c)
	case modes.Ordered:
		a.traced = true
		a.pairsOf(all, results.SpanSend)
		a.ordered(all)
	default:
		a.pairsOf(all, results.SpanRequest)
	}
	if err != nil {
		return nil, fmt.Errorf("case %q: %w", c.Name, err)
	}
	a.rankPairs()
	return &a.Why, nil
}

func (a *account) phases(all []*Slice) error {
	if a.plan == nil || a.plan.Schedule == nil {
		return errors.New("its plan is not with the results")
	}
	if a.tree.Servers() != a.Servers {
		return fmt.Errorf("spans of %d servers, its plan has %d", a.Servers, a.tree.Servers())
	}
	a.idealPhases()
	a.byPhase, a.barriers = make([][]float64, len(a.ideal)), make([][]float64, len(a.ideal))
	a.last = lists.Tabulate(len(a.ideal), func(int) map[PairOf]int { return map[PairOf]int{} })
	var took, waited []float64
	for _, s := range all {
		for _, x := range s.exchanges(len(a.ideal), a.Servers) {
			var sum float64
			for p, ph := range x.phases {
				a.byPhase[p] = append(a.byPhase[p], ph.transfers-ph.begin)
				a.barriers[p] = append(a.barriers[p], ph.barrier-ph.transfers)
				sum += ph.barrier - ph.transfers
				a.last[p][ph.last]++
				for pair, d := range ph.received {
					a.pairs.add(way{pair, -1}, d)
				}
			}
			l := Longest{Exchange: x.number, Begin: x.phases[0].begin, Sec: x.phases[len(x.phases)-1].barrier - x.phases[0].begin}
			if a.Longest == nil || l.Sec > a.Longest.Sec {
				a.Longest = &l
			}
			took, waited = append(took, l.Sec), append(waited, sum)
		}
	}
	if len(took) == 0 {
		return errors.New("the trace holds no complete exchange")
	}
	a.Exchanges, a.Measured, a.Barriers = len(took), mean(took), mean(waited)
	a.Transfers = a.Measured - a.Predicted - a.Barriers
	for p, took := range a.byPhase {
		cost := PhaseCost{Phase: p, Measured: mean(took), Predicted: a.ideal[p], Barrier: mean(a.barriers[p])}
		for pair, n := range a.last[p] {
			if f := float64(n) / float64(len(took)); f > cost.Of || f == cost.Of && (way{pair, 0}).compare(way{cost.Last, 0}) < 0 {
				cost.Last, cost.Of = pair, f
			}
		}
		a.Phases = append(a.Phases, cost)
	}
	a.Phases = worst(a.Phases, notable*a.fragment, PhaseCost.longer, func(x, y PhaseCost) int { return x.Phase - y.Phase })
	return nil
}

// during notes which links changed during the longest exchange, for a case of one slice: a summary
// does not assign them to slices.
func (a *account) during(c results.Case) {
	if a.Longest == nil || a.Slices > 1 {
		return
	}
	for _, e := range c.LinkEvents {
		if since := e.TSec - a.Longest.Begin; since >= 0 && since <= a.Longest.Sec {
			a.Longest.Events = append(a.Longest.Events, e)
		}
	}
}

// idealPhases computes how long each phase takes by its busiest link, and each of its messages by
// the busiest link on its path.
func (a *account) idealPhases() {
	t := a.tree
	a.ideal = make([]float64, a.plan.Phases())
	rows := lists.Tabulate(t.Servers(), func(rank int) []int { // [rank][phase] destination, or below 0
		return lists.Map(a.plan.Row(rank), func(s scheduler.Step) int { return s.To })
	})
	for p := range a.ideal {
		load := map[topology.Wire]int{}
		for r, row := range rows {
			if row[p] >= 0 {
				for _, w := range a.wires(r, row[p]) {
					load[w]++
				}
			}
		}
		for r, row := range rows {
			if row[p] < 0 {
				continue
			}
			most := 1
			for _, w := range a.wires(r, row[p]) {
				most = max(most, load[w])
			}
			sec := float64(most) * a.fragment
			a.expect[PairOf{t.Position(r), t.Position(row[p])}] = sec
			a.ideal[p] = max(a.ideal[p], sec)
		}
	}
}

// pairsOf adds up the times of fragments without phases.
func (a *account) pairsOf(all []*Slice, what results.SpanKind) {
	exchanges := 0
	var each []float64
	for _, s := range all {
		for _, x := range s.Spans {
			switch {
			case x.What == results.SpanExchange || x.What == results.SpanEvent:
				exchanges++
			case x.What == what && what == results.SpanSend:
				a.pairs.add(way{PairOf{x.Server, x.Peer}, x.Spine}, x.EndSec-x.BeginSec)
			case x.What == what:
				a.pairs.add(way{PairOf{x.Peer, x.Server}, -1}, x.EndSec-x.BeginSec)
			}
		}
	}
	for _, p := range a.pairs {
		each = append(each, mean(p))
	}
	usual := results.NewStat(each).Median
	for w := range a.pairs {
		a.expect[w.PairOf] = usual
	}
	a.Exchanges = exchanges / a.builders
}

// ordered computes the time of an exchange over all slices, as the trace includes rejected ones,
// and the idle time of send ports. A send ends when the kernel has the last of its fragment, while
// the port still sends: it is busy for a mean fragment from when the send began.
func (a *account) ordered(all []*Slice) {
	var took, idle float64
	exchanges := 0
	for _, s := range all {
		first, last, busy := map[int]float64{}, map[int]float64{}, map[int]float64{}
		for _, x := range s.Spans {
			switch x.What {
			case results.SpanExchange:
				if _, ok := first[x.Server]; !ok {
					first[x.Server] = x.BeginSec
				}
				last[x.Server] = max(last[x.Server], x.EndSec)
				exchanges++
			case results.SpanSend:
				busy[x.Server] = max(x.EndSec, max(busy[x.Server], x.BeginSec)+a.fragment)
			case results.SpanTokens:
				waited := max(0, x.EndSec-max(x.BeginSec, busy[x.Server]))
				idle += waited
				a.waited.add(way{PairOf{x.Server, x.Peer}, x.Spine}, waited)
			}
		}
		for _, server := range slices.Sorted(maps.Keys(first)) { // equal traces, equal sums
			took += last[server] - first[server]
		}
	}
	if exchanges > 0 {
		a.Measured, a.Tokens = took/float64(exchanges), idle/float64(exchanges)
	}
}

func (a *account) rankPairs() {
	for _, x := range slices.SortedFunc(maps.Keys(a.pairs), way.compare) {
		c := PairCost{PairOf: x.PairOf, Measured: mean(a.pairs[x]), Predicted: a.expect[x.PairOf]}
		c.Path = a.pathOf(x)
		c.Tokens = mean(a.waited[x])
		a.Pairs = append(a.Pairs, c)
	}
	a.Causes = attribution.Find(a.evidence())
	a.Pairs = worst(a.Pairs, notable*a.fragment, func(p PairCost) float64 { return p.Measured - p.Predicted },
		func(x, y PairCost) int { return cmp.Or(x.Src-y.Src, x.Dst-y.Dst, cmp.Compare(x.Path, y.Path)) })
}

// evidence is what the pairs tell of who is slow; nothing without the plan.
func (a *account) evidence() (e attribution.Evidence) {
	if a.plan == nil {
		return e
	}
	e.Timed = a.Why.of.Mode != modes.Unsync // whose requests wait for each other
	e.Names = lists.Tabulate(a.tree.Servers(), a.tree.HostName)
	for _, x := range slices.SortedFunc(maps.Keys(a.pairs), way.compare) {
		took := a.pairs[x]
		p := attribution.Pair{Src: a.ranks[x.Src], Dst: a.ranks[x.Dst], Bytes: 1, Messages: len(took), Longest: slices.Max(took)}
		for _, sec := range took {
			p.Sec += sec
			p.Expected += a.expect[x.PairOf]
		}
		path := x.spine
		if !a.traced {
			path = a.plan.Path(p.Src, p.Dst)
		}
		if way, known := (culprit.Planned{Plan: a.plan}).Through(p.Src, p.Dst, path); known {
			p.Way = way
		}
		e.Pairs = append(e.Pairs, p)
	}
	return e
}

// notable is the least excess that counts, as a share of a fragment's time.
const notable = 0.005

// worst returns the elements that took longer by at least least, the worst first, at most Most.
func worst[T any](all []T, least float64, longer func(T) float64, compare func(x, y T) int) []T {
	all = slices.DeleteFunc(all, func(x T) bool { return longer(x) < least })
	slices.SortFunc(all, func(x, y T) int { return cmp.Or(cmp.Compare(longer(y), longer(x)), compare(x, y)) })
	return all[:min(Most, len(all))]
}

// wires returns the wires on the path from a rank to another; none where it is not known.
func (a *account) wires(src, dst int) []topology.Wire {
	if a.plan == nil || src < 0 || dst < 0 {
		return nil
	}
	path := a.plan.Path(src, dst)
	if path < 0 && a.tree.Leaf(src) != a.tree.Leaf(dst) {
		return nil
	}
	return a.tree.Path(nil, src, dst, path)
}

// of returns the wires for positions, on the path in the trace if it has one.
func (a *account) of(x way) []topology.Wire {
	if a.plan == nil {
		return nil
	}
	src, dst := a.ranks[x.Src], a.ranks[x.Dst]
	switch {
	case !a.traced:
		return a.wires(src, dst)
	case a.tree.Leaf(src) != a.tree.Leaf(dst) && (x.spine < 0 || x.spine >= a.tree.Paths()):
		return nil
	}
	return a.tree.Path(nil, src, dst, x.spine)
}

func (a *account) pathOf(pair way) string {
	var links []string
	for _, w := range a.of(pair) {
		if link, _ := a.tree.WireName(w); w != a.tree.FromServer(a.ranks[pair.Src]) && w != a.tree.ToServer(a.ranks[pair.Dst]) {
			links = append(links, link)
		}
	}
	return strings.Join(links, ", ")
}
