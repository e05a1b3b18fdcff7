package verify

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"io"
	"math"
	"slices"

	"evbench/internal/answer"
	"evbench/internal/show"
	"evbench/site/network"
)

// An Offence is what is wrong with a plan.
type Offence struct {
	Kind  string `json:"kind"`
	Phase int    `json:"phase"` // -1: of the whole plan
	Text  string `json:"text"`
}

// SharedLink is the kind of an offence: messages of a phase meet.
const SharedLink = "shared link"

// A Report is what the judge found.
type Report struct {
	Valid    bool `json:"valid"`
	Hosts    int  `json:"hosts"`
	Adapters int  `json:"adapters,omitempty"` // where some hosts have several
	Messages int  `json:"messages"`
	Phases   int  `json:"phases"`
	// Time is how long the plan takes, Bound what the tables allow at least, both in message times, and
	// Witness the link that needs it; 0 and "" without tables.
	Time    float64 `json:"time,omitempty"`
	Bound   float64 `json:"bound,omitempty"`
	Witness string  `json:"witness,omitempty"`
	Total   int     `json:"offences_total"`

	Offences []Offence `json:"offences"`
	most     int
	bytes    bool // times are byte times, not message times
}

// Tables are what a plan is judged with. A zero value judges only who sends to whom, and when.
type Tables struct {
	Net  *network.Network
	Dump io.Reader // OpenSM's text
	// Sizes of fragments, by source·hosts + destination, for a plan with sizes; nil: those that it states.
	Sizes []int64
}

// Check judges a plan and names at most so many offences.
func Check(f *File, t Tables, most int) (*Report, error) {
	r := &Report{Hosts: 1 + f.host[f.Hosts-1], Messages: len(f.Messages), most: max(1, most), Offences: []Offence{}}
	if r.Hosts < f.Hosts {
		r.Adapters = f.Hosts
	}
	if r.bytes = f.Sized(); r.bytes {
		r.sized(f, t.Sizes)
	} else {
		r.pairs(f)
		r.hash(f, func(out *bufio.Writer) {
			for _, m := range f.Messages {
				fmt.Fprintf(out, "%d %d %d -\n", m.Phase, m.Src, m.Dst)
			}
		})
	}
	if t.Net != nil {
		if err := r.routes(f, t); err != nil {
			return nil, err
		}
	}
	r.Valid = r.Total == 0
	return r, nil
}

func (r *Report) accuse(kind string, phase int, format string, args ...any) {
	if r.Total++; len(r.Offences) < r.most {
		r.Offences = append(r.Offences, Offence{kind, phase, fmt.Sprintf(format, args...)})
	}
}

// meets reports whether a plan without lost messages has one from src to dst.
func (f *File) meets(src, dst int) bool {
	return f.host[src] != f.host[dst] && f.Reads[src] && f.Builds[dst]
}

// pairs counts the messages of each pair, and of each host in a phase. Messages are sorted by phase.
func (r *Report) pairs(f *File) {
	met := make([]bool, f.Hosts*f.Hosts)
	to, from := make([]Message, f.Hosts), make([]Message, f.Hosts) // of the last message of a host
	for i := range to {
		to[i].Phase, from[i].Phase = -1, -1
	}
	used, last := 0, int32(-1)
	for _, m := range f.Messages {
		phase, src, dst := int(m.Phase), int(m.Src), int(m.Dst)
		if m.Phase != last {
			used, last = used+1, m.Phase
		}
		if src >= f.Hosts || dst >= f.Hosts {
			r.accuse("no such host", phase, "phase %d: a message from %d to %d, and there are hosts 0 to %d", phase, src, dst, f.Hosts-1)
			continue
		}
		switch at := src*f.Hosts + dst; {
		case !f.meets(src, dst):
			r.accuse("no message", phase, "phase %d: %d sends to %d, which no exchange of these roles has", phase, src, dst)
		case met[at]:
			r.accuse("sent twice", phase, "phase %d: %d has sent to %d before", phase, src, dst)
		default:
			met[at] = true
		}
		if x := to[src]; x.Phase == m.Phase {
			r.accuse("sends twice", phase, "phase %d: %d sends to %d and to %d", phase, src, x.Dst, dst)
		}
		if x := from[dst]; x.Phase == m.Phase {
			r.accuse("receives twice", phase, "phase %d: %d receives from %d and from %d", phase, dst, x.Src, src)
		}
		to[src], from[dst] = m, m
	}
	r.Phases = used
	if int(last) >= f.Phases {
		r.accuse("phases", int(last), "phase %d: the plan states %d phases", last, f.Phases)
	}
	if r.Phases < f.Phases {
		r.accuse("phases", -1, "%d phases have messages, and the plan states %d", r.Phases, f.Phases)
	}
	missing, first := 0, ""
	for src := range f.Hosts {
		for dst := range f.Hosts {
			if f.meets(src, dst) && !met[src*f.Hosts+dst] {
				if missing++; missing == 1 {
					first = fmt.Sprintf("%d to %d", src, dst)
				}
			}
		}
	}
	if missing != f.Lost {
		r.accuse("missing", -1, "%s, and the plan states %d: the first is from %s", show.Plural(missing, "message is missing", "messages are missing"), f.Lost, cmp.Or(first, "none"))
	}
}

// hash computes the hash of the plan, with the given lines, again.
func (r *Report) hash(f *File, lines func(*bufio.Writer)) {
	h := sha256.New()
	out := bufio.NewWriterSize(h, 1<<16)
	out.WriteString(f.covered)
	lines(out)
	out.Flush()
	if sum := fmt.Sprintf("sha256:%x", h.Sum(nil)); sum != f.Header["hash"] {
		r.accuse("hash", -1, "the hash is %s, and the plan states %s", sum, f.Header["hash"])
	}
}

// routes follows each message, counts those on each link in each phase, and the bound.
func (r *Report) routes(f *File, t Tables) error {
	tables, err := readRoutes(t.Dump, t.Net)
	if err != nil {
		return err
	}
	nodes, err := Nodes(f, t.Net)
	if err != nil {
		return err
	}
	if f.bits != nil {
		tables.bits = make([]int, t.Net.Nodes())
		for i, v := range nodes {
			tables.bits[v] = f.bits[i]
		}
	}
	rate := messageRate(t.Net, nodes)
	if f.Sized() {
		sent := make([]bool, f.Hosts*f.Hosts)
		for _, x := range f.Fragments {
			if int(x.Src) < f.Hosts && int(x.Dst) < f.Hosts {
				sent[int(x.Src)*f.Hosts+int(x.Dst)] = f.meets(int(x.Src), int(x.Dst))
			}
		}
		r.same(f, tables, nodes, sent)
		r.intervals(f, tables, nodes, rate)
		return nil
	}
	arrives, lost := make([]bool, f.Hosts*f.Hosts), 0
	load, lengths := tables.counts(), false // phases have lengths where a link is slower than a message
	for src := range f.Hosts {
		for dst := range f.Hosts {
			if !f.meets(src, dst) {
				continue
			}
			way := tables.walk(nodes[src], nodes[dst])
			if way == nil {
				lost++
				continue
			}
			arrives[src*f.Hosts+dst] = true
			for _, l := range way {
				load[at(l)]++
			}
		}
	}
	if lost != f.Lost {
		r.accuse("undelivered", -1, "the tables do not deliver %s, and the plan states %d", show.Plural(lost, "message", "messages"), f.Lost)
	}
	r.same(f, tables, nodes, arrives)
	for i, n := range load {
		lengths = lengths || n > 0 && tables.rate(rate, linkAt(i)) < 1
	}
	for v := network.Node(t.Net.Nodes()) - 1; v >= 0; v-- {
		for port := range 256 {
			l := link{Node: v, Port: uint8(port)}
			if load[at(l)] == 0 {
				continue
			}
			need := tables.need(rate, l, int(load[at(l)]))
			if !lengths {
				need = math.Ceil(need - 1e-9)
			}
			if need > r.Bound*(1+1e-9) {
				r.Bound, r.Witness = need, t.Net.EndName(l)
				if t.Net.IsHost(l.Node) {
					r.Witness = t.Net.Name(l.Node)
				}
			}
		}
	}
	if !equal(r.Bound, f.Bound) {
		r.accuse("bound", -1, "%s needs %.6g message times, and the plan states a bound of %.6g", r.Witness, r.Bound, f.Bound)
	}
	if r.times(f, tables, nodes, rate, lengths); !equal(r.Time, f.Time) {
		r.accuse("time", -1, "the phases take %.6g message times, and the plan states %.6g", r.Time, f.Time)
	}
	return nil
}

// Nodes are the hosts of a plan, by rank.
func Nodes(f *File, n *network.Network) ([]network.Node, error) {
	nodes, by := make([]network.Node, f.Hosts), map[uint64]network.Node{}
	for v := range network.Node(n.Hosts()) {
		by[n.Key(v)] = v
	}
	for i, g := range f.GUIDs {
		v, there := by[g]
		if !there {
			return nil, fmt.Errorf("host %d has the GUID 0x%016x, which no host of the network has", i, g)
		}
		nodes[i] = v
	}
	return nodes, nil
}

// same compares the tables with those of the plan, for the messages that it has.
func (r *Report) same(f *File, t *routes, nodes []network.Node, meets []bool) {
	if sum := t.sum(nodes, func(src, dst int) bool { return meets[src*f.Hosts+dst] }); sum != f.Header["tables"] {
		r.accuse("other tables", -1, "the plan was made for other tables: these have the sum %s", sum)
	}
}

// equal compares numbers of which one was written with six digits.
func equal(a, b float64) bool { return math.Abs(a-b) <= 1e-5*max(1, math.Abs(a)) }

// times adds up the phases, each as long as its slowest link, and names links that need longer than one message time
// where phases have no lengths.
func (r *Report) times(f *File, t *routes, nodes []network.Node, rate float64, lengths bool) {
	used, touched := t.counts(), []link(nil)
	for i := 0; i < len(f.Messages); {
		longest, fullest := 0.0, link{}
		first := i
		for ; i < len(f.Messages) && f.Messages[i].Phase == f.Messages[first].Phase; i++ {
			m := f.Messages[i]
			if int(m.Src) >= f.Hosts || int(m.Dst) >= f.Hosts || !f.meets(int(m.Src), int(m.Dst)) {
				continue
			}
			way := t.walk(nodes[m.Src], nodes[m.Dst])
			if way == nil {
				r.accuse("undelivered", int(m.Phase), "phase %d: the tables do not deliver the message from %d to %d", m.Phase, m.Src, m.Dst)
			}
			for _, l := range way {
				if used[at(l)]++; used[at(l)] == 1 {
					touched = append(touched, l)
				}
				if need := t.need(rate, l, int(used[at(l)])); need > longest*(1+1e-9) {
					longest, fullest = need, l
				}
			}
		}
		for _, l := range touched {
			used[at(l)] = 0
		}
		touched = touched[:0]
		r.Time += longest
		if longest > 1+1e-9 && !lengths && !t.net.IsHost(fullest.Node) {
			r.shared(f, t, nodes, f.Messages[first:i], fullest)
		}
	}
}

// shared accuses messages of a phase of sharing a link.
func (r *Report) shared(f *File, t *routes, nodes []network.Node, phase []Message, on link) {
	var there []Message
	for _, m := range phase {
		if int(m.Src) < f.Hosts && int(m.Dst) < f.Hosts && f.meets(int(m.Src), int(m.Dst)) && slices.Contains(t.walk(nodes[m.Src], nodes[m.Dst]), on) {
			there = append(there, m)
		}
	}
	a, b := there[0], there[1]
	r.accuse(SharedLink, int(a.Phase), "phase %d: the messages from %d to %d and from %d to %d share %s, which has no room for %s", a.Phase,
		a.Src, a.Dst, b.Src, b.Dst, t.net.EndName(on), show.Plural(len(there), "message", "messages"))
}

// messageRate is the most frequent rate of the hosts' cables, or of those between switches; 0 if fewer
// than half state one.
func messageRate(n *network.Network, nodes []network.Node) float64 {
	var own, other []float64
	for _, v := range nodes {
		own = append(own, n.Rate(link{Node: v, Port: 1}))
	}
	for _, c := range n.SwitchCables() {
		other = append(other, n.Rate(c.A))
	}
	return cmp.Or(usual(own), usual(other))
}

func usual(rates []float64) (out float64) {
	count, known := map[float64]int{}, 0
	for _, x := range rates {
		if x > 0 {
			count[x]++
			known++
		}
	}
	for x, n := range count {
		if n > count[out] || n == count[out] && x > out {
			out = x
		}
	}
	if 2*known < len(rates) {
		return 0
	}
	return out
}

// rate is the rate of a link over that of a message: whole above 1, and at most 1 at hosts.
func (r *routes) rate(message float64, l link) float64 {
	x := r.net.Rate(l)
	switch {
	case message == 0 || x == 0:
		return 1
	case x < message:
		return x / message
	case r.net.IsHost(l.Node) || r.net.IsHost(r.net.At(l.Node, int(l.Port)).Node):
		return 1
	}
	return math.Floor(x/message + 0.05)
}

// need is how long a link takes for messages that begin together, at least one message time.
func (r *routes) need(message float64, l link, messages int) float64 {
	return max(1, float64(messages)/r.rate(message, l))
}

// Answer says what the judge found in the plan of a file.
func (r *Report) Answer(name string, tables bool) answer.Answer {
	f, e := answer.Finding{Text: name + " is valid", Place: answer.At}, answer.Evidence{}
	switch {
	case !r.Valid:
		f = answer.Finding{Text: fmt.Sprintf("%s is not valid: %s", name, show.Plural(r.Total, "offence", "offences")), Place: answer.Below}
		e.Why = []string{r.Offences[0].Text}
	case !tables:
		what := "message has one phase, and a host sends and receives one message at a time"
		if r.bytes {
			what = "fragment is sent once"
		}
		f.Text = fmt.Sprintf("in %s each %s", name, what)
		f.Doubts = []answer.Doubt{{Text: "whether messages share links is not known without the tables", Remedy: "give them (-t NETWORK --tables FILE)"}}
	case r.Time <= r.Bound*(1+1e-9):
		f.Text += fmt.Sprintf(", and no order over these tables takes less than its %.*g %s", r.digits(), r.Time, r.unit())
		e.Why = []string{fmt.Sprintf("%s needs %.*g", r.Witness, r.digits(), r.Bound)}
	default:
		f.Text += fmt.Sprintf("; its %.*g %s are at most %.1f %% above the least that these tables allow", r.digits(), r.Time, r.unit(), 100*(r.Time/r.Bound-1))
		e.Why = []string{fmt.Sprintf("%s needs %.*g", r.Witness, r.digits(), r.Bound)}
	}
	e.Findings = []answer.Finding{f}
	return answer.Decide(answer.Claims, e)
}

// WriteText writes the report for people.
func (r *Report) WriteText(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "hosts     %d\n", r.Hosts)
	if r.Adapters > 0 {
		fmt.Fprintf(&b, "adapters  %d\n", r.Adapters)
	}
	fmt.Fprintf(&b, "messages  %d\nphases    %d\n", r.Messages, r.Phases)
	if r.Bound > 0 {
		fmt.Fprintf(&b, "time      %.*g %s\nbound     %.*g, by %s\n", r.digits(), r.Time, r.unit(), r.digits(), r.Bound, r.Witness)
	}
	for _, o := range r.Offences {
		fmt.Fprintf(&b, "%s: %s\n", o.Kind, o.Text)
	}
	if more := r.Total - len(r.Offences); more > 0 {
		fmt.Fprintf(&b, "and %s\n", show.Plural(more, "more offence", "more offences"))
	}
	_, err := w.Write(b.Bytes())
	return err
}
