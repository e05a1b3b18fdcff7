package order

import (
	"encoding/json"
	"fmt"
	"io"

	"evbench/internal/answer"
	"evbench/internal/lists"
	"evbench/internal/show"
	"evbench/plan/promise"
	"evbench/site/lft"
	"evbench/site/network"
)

// Schema names the form of the JSON document.
const Schema = "evbench/plan/3"

// Figures are what an order of messages promises, beside others. Times are message times.
type Figures struct {
	Time   float64
	Least  float64 // no order in steps over these tables takes less
	Linear float64 // the linear shift in the order of ranks, as MPI's pairwise exchange
	// Pairwise is that without barriers, where links are shared fairly; 0 where it was not counted.
	Pairwise float64
	Load     int // the most messages that a host sends, or receives
}

// pairwiseHosts is up to how many hosts Pairwise is counted: 1 s for 288 on one processor.
const pairwiseHosts = 300

// Figures counts them. O(messages · hops).
func (p *Plan) Figures() (f Figures) {
	f.Time, f.Least, f.Linear = p.Time(p.Schedule), p.Bound.Steps, p.Time(p.LinearShift())
	if p.Problem.Hosts <= pairwiseHosts {
		f.Pairwise = Pairwise(p.Problem, p.LinearShift())
	}
	for _, n := range p.Loads()[:2*p.Problem.Hosts] {
		f.Load = max(f.Load, int(n))
	}
	return f
}

// Answer says how long the exchange takes in this order, how far that is from the least, and how long in
// the usual one.
func (p *Plan) Answer(f Figures) answer.Answer {
	m := promise.Promise{Kind: promise.Tables, Takes: f.Time, Least: f.Least, Why: []string{p.witness()}}
	if p.Bound.Steps > p.Bound.Time {
		m.Kind = promise.Steps
		m.Why = append(m.Why, fmt.Sprintf("hosts that send and receive a message a step, slow ones in long steps, need %s", steps(p.Bound.Steps)))
	}
	return p.answer(answer.Order, m, steps(f.Time), "in the order of ranks it takes "+promise.Amount(f.Linear))
}

// answer says what an order promises, and what the order of ranks takes. Rates may be a guess.
func (p *Plan) answer(q answer.Question, m promise.Promise, takes, ranks string) answer.Answer {
	f := m.Finding("in this order the exchange takes "+takes, "; "+ranks)
	if n := p.Over.Tables.Net; n.Guess != "" {
		f.Doubts = append(f.Doubts, answer.Doubt{Text: "the rates are a guess: " + n.Guess})
	}
	return answer.Decide(q, answer.Evidence{Findings: []answer.Finding{f}, Why: m.Why})
}

func steps(x float64) string {
	if x == 1 {
		return "1 step"
	}
	return promise.Amount(x) + " steps"
}

// witness says why no order is shorter.
func (p *Plan) witness() string {
	b := p.Bound
	if b.Link < 0 {
		return "no host has a message for another"
	}
	n, e := p.Over.Tables.Net, p.Over.Ports[b.Link]
	text := ""
	switch {
	case b.Link < p.Problem.Hosts:
		text = fmt.Sprintf("%s sends %s", n.Name(e.Node), show.Plural(b.Load, "message", "messages"))
	case b.Link < 2*p.Problem.Hosts:
		text = fmt.Sprintf("%s receives %s", n.Name(p.Over.Job.Nodes[b.Link-p.Problem.Hosts]), show.Plural(b.Load, "message", "messages"))
	default:
		text = fmt.Sprintf("%s to %s carries %s", n.EndName(e), n.Name(n.At(e.Node, int(e.Port)).Node), show.Plural(b.Load, "message", "messages"))
	}
	if room := p.Links[b.Link].Room; room > 1 {
		text += fmt.Sprintf(", %d at once", room)
	}
	if share := p.Links[b.Link].Share; share < 1 {
		text += fmt.Sprintf(", each at %.0f %% of the rate of most hosts", 100*share)
	}
	return text
}

// Passing returns the first pairs of hosts whose messages pass a link, at most so many.
func (p *Plan) Passing(link, most int) (pairs [][2]int) {
	for src := range p.Problem.Hosts {
		for dst := range p.Problem.Hosts {
			if src == dst || !p.Meets(src, dst) {
				continue
			}
			on := link == src || link == p.Problem.Hosts+dst
			for _, l := range p.Between(src, dst) {
				on = on || int(l) == link
			}
			if on {
				if pairs = append(pairs, [2]int{src, dst}); len(pairs) == most {
					return pairs
				}
			}
		}
	}
	return pairs
}

// Describe prints the figures.
func (p *Plan) Describe(w io.Writer, f Figures) {
	share := func(time float64) string { return show.Percent(float64(f.Load) / time) }
	hosts := show.Plural(p.Problem.Hosts, "host", "hosts")
	if own := len(p.Machines()); own > 0 {
		hosts = fmt.Sprintf("%s, %d adapters", show.Plural(own, "host", "hosts"), p.Problem.Hosts)
	}
	fmt.Fprintf(w, "  %s, %s, tables of %s\n", hosts, show.Plural(p.Messages(), "message", "messages"), p.Over.Tables.Engine)
	if p.Over.Tables.Note != "" {
		fmt.Fprintf(w, "  %s\n", p.Over.Tables.Note)
	}
	fmt.Fprintln(w)
	lines := [][]string{
		{"order", "steps", "of the link rate", ""},
		{"planned", promise.Amount(f.Time), share(f.Time), "with a barrier after each step; " + made[p.Made]},
		{"ranks", promise.Amount(f.Linear), share(f.Linear), "linear shift with a barrier after each step"},
		{"", promise.Amount(f.Pairwise), share(f.Pairwise), "the same without barriers, as MPI's pairwise exchange; links shared fairly"},
		{"none", promise.Amount(p.Bound.Time), share(p.Bound.Time), "at best: all messages at once, links shared fairly"},
	}
	if f.Pairwise == 0 {
		lines = append(lines[:3], lines[4:]...)
	}
	show.Align(w, lines, show.Column{}, show.Column{Right: true}, show.Column{Right: true}, show.Column{})
	if p.Over.Tables.Bits != nil {
		fmt.Fprintln(w, "\n  hosts add path bits to the first LID of a destination, those of the plan's line path-bits (UCX_IB_LID_PATH_BITS)")
	}
	if p.Bound.Link >= 2*p.Problem.Hosts {
		fmt.Fprintf(w, "\n  %s:", p.witness())
		for _, pair := range p.Passing(p.Bound.Link, 4) {
			fmt.Fprintf(w, " %s-%s", p.hostName(pair[0]), p.hostName(pair[1]))
		}
		if p.Bound.Load > 4 {
			fmt.Fprint(w, " …")
		}
		fmt.Fprintln(w)
	}
	if d := lft.Deadlock(p.Over.Tables); !d.Free() {
		fmt.Fprintln(w, "  on a lossless network without more virtual lanes messages can block each other for good over these tables (evbench routes check); in this order none waits for another")
	}
	if len(p.Over.Missing) > 0 {
		first := p.Over.Missing[0]
		fmt.Fprintf(w, "  %s left out, which the tables do not deliver: the first is from %s to %s\n",
			show.Plural(len(p.Over.Missing), "message is", "messages are"), p.hostName(int(first[0])), p.hostName(int(first[1])))
	}
}

func (p *Plan) hostName(rank int) string { return p.Over.Tables.Net.Name(p.Over.Job.Nodes[rank]) }

// made says by which rule an order was made.
var made = map[string]string{
	"linear-shift":           "the order of ranks is best",
	"linear-shift-by-switch": "linear shift in the order of switches",
	"shift-by-host":          "hosts are shifted, and their adapters",
	"shift-by-port":          "the switches of a phase are shifted, and their ports",
	"spread-by-port":         "the ports of a switch send to different switches",
	"xor":                    "in step k each host sends to its own number xor k",
	"greedy":                 "fullest links first",
	"ejection":               "fullest links first, then exchanged",
}

// A document is the plan as JSON.
type document struct {
	Schema   string   `json:"schema"`
	Network  string   `json:"network"`
	Engine   string   `json:"engine"`
	Tables   string   `json:"tables"`
	Hosts    []string `json:"hosts"`
	Messages int      `json:"messages"`
	Made     string   `json:"made"`
	Steps    float64  `json:"steps"`
	Bound    struct {
		Steps float64     `json:"steps"`
		Link  string      `json:"link"`
		Load  int         `json:"messages"`
		Pairs [][2]string `json:"pairs"` // the first
	} `json:"bound"`
	Linear float64 `json:"linear_shift_steps"`
	// Pairwise is without barriers, where links are shared fairly.
	Pairwise float64     `json:"pairwise_steps,omitempty"`
	Missing  [][2]string `json:"undelivered,omitempty"`
	// Adapters are the first and the last place in Hosts of each host where some have several.
	Adapters [][2]int `json:"adapters,omitempty"`
	// PathBits are what each host adds to the first LID of a destination; without them nothing.
	PathBits []int `json:"path_bits,omitempty"`
	// Phases are the messages of each phase: source and destination, places in Hosts.
	Phases [][][2]int32 `json:"phases"`
}

const namedPairs = 20

// WriteJSON writes the plan as one document, which no command reads.
func (p *Plan) WriteJSON(w io.Writer) error {
	f := p.Figures()
	d := document{
		Schema: Schema, Network: p.Network, Engine: p.Over.Tables.Engine, Tables: p.Over.Sum(),
		Adapters: p.Machines(), Messages: p.Messages(), Made: p.Made, Steps: f.Time, Linear: f.Linear, Pairwise: f.Pairwise, Phases: make([][][2]int32, p.Phases),
	}
	for _, v := range p.Over.Job.Nodes {
		d.Hosts = append(d.Hosts, p.Over.Tables.Net.Name(v))
		if bits := p.Over.Tables.Bits; bits != nil {
			d.PathBits = append(d.PathBits, int(bits[v]))
		}
	}
	d.Bound.Steps, d.Bound.Link, d.Bound.Load = f.Least, p.LinkName(p.Bound.Link), p.Bound.Load
	for _, pair := range p.Passing(p.Bound.Link, namedPairs) {
		d.Bound.Pairs = append(d.Bound.Pairs, [2]string{p.hostName(pair[0]), p.hostName(pair[1])})
	}
	for _, pair := range p.Over.Missing {
		d.Missing = append(d.Missing, [2]string{p.hostName(int(pair[0])), p.hostName(int(pair[1]))})
	}
	first, in := p.ByPhase()
	for k := range p.Phases {
		for _, m := range in[first[k]:first[k+1]] {
			d.Phases[k] = append(d.Phases[k], [2]int32{m / int32(p.Schedule.Hosts), m % int32(p.Schedule.Hosts)})
		}
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(d)
}

// Ranks returns which of some hosts are among others.
func Ranks(nodes []network.Node, of []network.Node) []bool {
	in := map[network.Node]bool{}
	for _, v := range of {
		in[v] = true
	}
	return lists.Map(nodes, func(v network.Node) bool { return in[v] })
}
