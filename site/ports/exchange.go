package ports

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"evbench/internal/answer"
	"evbench/internal/lists"
	"evbench/internal/show"
	"evbench/plan/promise"
	"evbench/scheduler"
	"evbench/scheduler/balance"
	"evbench/scheduler/judge"
	"evbench/scheduler/order"
)

// An Exchange is all messages between the hosts of Paths, whose candidates are the ports that are known.
type Exchange struct {
	*scheduler.Problem
	of    *Paths
	ports [][]int      // of each message, by src·Hosts + dst, the port of each candidate, as in Row
	names []string     // of links from 2·Hosts on
	hops  []netip.Addr // likewise: what answers behind the link
	both  bool         // the messages of two hosts take candidates of one number: see NewBoth
	roles Roles
	slow  []string // its slow cables
}

// Roles say which hosts send and which receive, by number; nil: all.
type Roles struct{ Reads, Builds []bool }

func (r Roles) meet(src, dst int) bool {
	return (r.Reads == nil || r.Reads[src]) && (r.Builds == nil || r.Builds[dst])
}

// write writes those of a plan.
func (r Roles) write(w io.Writer) {
	for i, set := range [][]bool{r.Reads, r.Builds} {
		var ranks []string
		for rank, is := range set {
			if is {
				ranks = append(ranks, strconv.Itoa(rank))
			}
		}
		if set != nil {
			fmt.Fprintf(w, "# %s %s\n", [...]string{"readers", "builders"}[i], strings.Join(ranks, ","))
		}
	}
}

// NewExchange makes the links of paths from the answers of switches. A switch that answers from the interface by which a
// packet came names a link; where all packets through a switch are answered from one address, a link is what stands
// between two such addresses, and cables in parallel are one.
func NewExchange(p *Paths, roles Roles) (*Exchange, error) {
	return newExchange(p, roles, func(r Row) bool { return r.Port >= 0 })
}

func newExchange(p *Paths, roles Roles, takes func(Row) bool) (*Exchange, error) {
	bySwitch, err := p.namesSwitches()
	if err != nil {
		return nil, err
	}
	n := len(p.Hosts)
	x := &Exchange{Problem: &scheduler.Problem{Hosts: n}, of: p, roles: roles, ports: make([][]int, n*n)}
	if roles.Reads != nil || roles.Builds != nil {
		x.Meets = roles.meet
	}
	candidates := make([][][]int32, n*n)
	number, group := map[string]int32{}, p.groupOf()
	for _, r := range p.Rows {
		if r.Sprayed() {
			return nil, fmt.Errorf("%s: packets of the port took several ways, so no port chooses a path here", p.name(r))
		}
		if !r.Known() || !takes(r) {
			continue
		}
		var links []int32
		for i, key := range p.links(r, group, bySwitch) {
			l, ok := number[key]
			if !ok {
				l = int32(2*n + len(number))
				number[key] = l
				x.names, x.hops = append(x.names, key), append(x.hops, r.Hops[i][0])
			}
			links = append(links, l)
		}
		m := r.Src*n + r.Dst
		candidates[m], x.ports[m] = append(candidates[m], links), append(x.ports[m], r.Port)
	}
	x.Paths = scheduler.Listed{Hosts: n, Of: candidates}
	shares, cables := p.shares()
	x.Links = slices.Repeat([]scheduler.Link{scheduler.LinkOf(1)}, 2*n+len(number))
	for name, share := range shares {
		if l, there := number[name]; there {
			x.Links[l] = scheduler.LinkOf(share)
		} else if h := slices.IndexFunc(p.Hosts, func(h Host) bool { return h.String() == name }); h >= 0 {
			x.Links[h], x.Links[n+h] = scheduler.LinkOf(share), scheduler.LinkOf(share)
		}
	}
	x.slow = cables
	return x, x.complete()
}

// links names the links of a known row, by the switches of all hosts.
func (p *Paths) links(r Row, group []int, bySwitch bool) []string {
	out, before := make([]string, len(r.Hops)), fmt.Sprint("switch ", group[r.Src])
	for i, h := range r.Hops {
		out[i] = p.hopName(h[0])
		if bySwitch {
			out[i], before = before+" to "+out[i], out[i]
		}
	}
	return out
}

// ForJudge are the paths as the judge of a plan takes them.
func (p *Paths) ForJudge() (*judge.Ports, error) {
	bySwitch, err := p.namesSwitches()
	if err != nil {
		return nil, err
	}
	j, group := &judge.Ports{Sum: p.sum(), To: p.Port, Ways: map[[3]int][]string{}, Back: map[[3]int]bool{}}, p.groupOf()
	shares, cables := p.shares()
	j.Shares, j.Slow, j.Hosts = shares, strings.Join(cables, ","), lists.Map(p.Hosts, Host.String)
	for _, r := range p.Rows {
		var way []string
		if r.Known() {
			way = p.links(r, group, bySwitch)
		}
		if r.Port < 0 { // no port of Dst is one of Src: see draw
			back := [3]int{r.Src, r.Dst, -r.Port}
			j.Ways[back], j.Back[back] = way, true
			continue
		}
		j.Ways[[3]int{r.Src, r.Dst, r.Port}] = way
	}
	return j, nil
}

// complete refuses an exchange with a message of no known path.
func (x *Exchange) complete() error {
	missing, first := 0, ""
	x.Each(func(src, dst int) {
		if len(x.ports[src*x.Hosts+dst]) == 0 {
			if missing++; missing == 1 {
				first = x.of.pair(src, dst)
			}
		}
	})
	if missing > 0 {
		return fmt.Errorf("of %d of %d ordered pairs no path is known, the first is %s: ask for them with evbench paths", missing, x.Hosts*(x.Hosts-1), first)
	}
	return nil
}

func (p *Paths) name(r Row) string { return p.pair(r.Src, r.Dst) + " from port " + p.portText(r.Port) }

func (p *Paths) pair(src, dst int) string { return p.Hosts[src].Name + " to " + p.Hosts[dst].Name }

func (p *Paths) hopName(a netip.Addr) string {
	if name := p.Names[a]; name != "" {
		return name
	}
	return a.String()
}

// groupOf numbers the switch of each host, by the pairs that need no port.
func (p *Paths) groupOf() []int {
	first := make([]int, len(p.Hosts)) // host of the switch
	for h := range first {
		first[h] = h
	}
	for _, r := range p.Rows {
		if a, b := first[r.Src], first[r.Dst]; r.Port == None && a != b {
			for h := range first {
				if first[h] == max(a, b) {
					first[h] = min(a, b)
				}
			}
		}
	}
	out, switches := make([]int, len(first)), 0
	for h, f := range first {
		if out[h] = out[f]; f == h {
			out[h] = switches
			switches++
		}
	}
	return out
}

// errWayBack is about routers that answer from the interface of the way back, as Linux does by default.
var errWayBack = errors.New("is an address that a switch uses for packets of several cables, and others on the way are not: switches answer " +
	"from the interface of the way back, so links are not known; Linux routers: sysctl net.ipv4.icmp_errors_use_inbound_ifaddr=1, for IPv6 one address a switch; " +
	"or cables are parallel: ask for more ports (--ports)")

// often is how many ways an address is seen on, on average, before parallel cables are believed: by chance answers from the way
// back then leave no two switches apart.
const often = 8

// namesSwitches reports whether addresses stand for switches: the first on a way answers hosts of several switches. Else each is
// the end of a cable, and what comes before it is at the switch where that cable begins: one address, or more where
// cables to that switch are parallel. If all that the ways from some switch pass would be one switch, or too few are known, addresses mean neither.
func (p *Paths) namesSwitches() (bool, error) {
	type place struct{ group, hop int }
	group, several, later, known := p.groupOf(), false, netip.Addr{}, 0
	first, before, at, same := map[netip.Addr]int{}, map[netip.Addr]map[int]netip.Addr{}, map[place]map[netip.Addr]bool{}, map[netip.Addr]netip.Addr{}
	switchOf := func(a netip.Addr) netip.Addr { // the address that stands for it
		for same[a].IsValid() {
			a = same[a]
		}
		return a
	}
	for _, r := range p.Rows {
		if !r.Known() || len(r.Hops) == 0 || len(p.Names) > 0 { // with names the network is known
			continue
		}
		from, last := group[r.Src], r.Hops[0][0]
		g, there := first[last]
		several, first[last] = several || there && g != from, from
		known++
		for i, h := range r.Hops[1:] {
			if at[place{from, i}] == nil {
				at[place{from, i}] = map[netip.Addr]bool{}
			}
			at[place{from, i}][last] = true
			all := before[h[0]]
			if all == nil {
				all = map[int]netip.Addr{-1: last} // of any
				before[h[0]] = all
			}
			if was, ok := all[from]; ok && was != last {
				later = h[0]
			}
			if a, b := switchOf(all[-1]), switchOf(last); a != b {
				same[a] = b
			}
			all[from], last = last, h[0]
		}
	}
	addresses, apart := map[netip.Addr]bool{}, true
	for _, all := range at {
		switches := map[netip.Addr]bool{}
		for a := range all {
			switches[switchOf(a)], addresses[a] = true, true
		}
		apart = apart && (len(all) == 1 || len(switches) > 1)
	}
	if later.IsValid() && !several && (!apart || known < often*len(addresses)) {
		return false, fmt.Errorf("%s %w", later, errWayBack)
	}
	return several, nil
}

// Figures are what an exchange takes, in message times.
type Figures struct {
	Hosts  int     `json:"hosts"`
	Steps  float64 `json:"steps"`           // in the order of the plan, with its ports
	Least  float64 `json:"least"`           // in whole steps over these ports, in any order
	Any    float64 `json:"least_any_ports"` // likewise over any ports, also those not asked about, on the links that are known
	Linear float64 `json:"linear_shift"`    // linear shift where each message has the first of its ports, as one that nobody chose
	// Fullest is how many messages the fullest link then has, and has in the plan.
	Fullest     int    `json:"fullest"`
	FullestPlan int    `json:"fullest_planned"`
	FullestLink string `json:"fullest_link"`
	Links       []Load `json:"links"` // the fullest first
	// Slow are cables that are slower than a message, with their share of its rate: "172.16.0.1 172.16.0.0 0.5".
	Slow []string `json:"slow,omitempty"`
}

// A Load is how many messages a link carries: by the first port of each, which nobody chose, and in the plan.
type Load struct {
	Link    string `json:"link"`
	First   int32  `json:"first_ports"`
	Planned int32  `json:"planned"`
}

// A Plan is a port and a phase for each message.
type Plan struct {
	*scheduler.Plan
	x    *Exchange
	made string // another schedule than balance; "": that
	Figures
	times string // lines of its file where links are slow; "": not known yet
}

// Plan plans the exchange; steps bound the search, 0: as package order does.
func (x *Exchange) Plan(steps int) *Plan {
	p := &Plan{x: x}
	if x.both {
		p.Plan = x.planBoth(steps)
	} else {
		p.Plan = balance.Make(x.Problem, steps)
	}
	plain, chosen := order.New(x.Problem, make([]uint8, x.Hosts*x.Hosts)), order.New(x.Problem, p.Path)
	round := whole
	if x.slow != nil { // steps have lengths
		round = func(time float64) float64 { return time }
	}
	p.Figures = Figures{Hosts: x.Hosts, Steps: chosen.Time(p.Plan), Any: round(x.leastOfAny()), Linear: plain.Time(plain.LinearShift()), Slow: x.slow}
	p.Least = max(p.Any, round(x.Least().Time))
	before, after := plain.Loads(), chosen.Loads()
	for i, name := range x.names {
		l := Load{name, before[2*x.Hosts+i], after[2*x.Hosts+i]}
		p.FullestPlan = max(p.FullestPlan, int(l.Planned))
		p.Links = append(p.Links, l)
	}
	slices.SortStableFunc(p.Links, func(a, b Load) int { return cmp.Compare(b.First, a.First) })
	if len(p.Links) > 0 {
		p.Fullest, p.FullestLink = int(p.Links[0].First), p.Links[0].Link
	}
	return p
}

// whole is a number of steps that no plan goes below.
func whole(time float64) float64 { return math.Ceil(time - 1e-6) }

// leastOfAny is a time that no choice of ports goes below: a message takes any way that is known between the switches of
// its hosts, so messages between two switches are alike, and their number decides. The links out of a switch, and those
// into it, are looked at by themselves, as weights come near their share only slowly.
func (x *Exchange) leastOfAny() float64 {
	flows, least := x.flows()
	number, messages, links := map[int32]bool{}, map[int]float64{}, map[int]float64{}
	for _, f := range flows {
		for side, g := range []int{f.from, ^f.to} { // out of the one, into the other
			if f.from == f.to {
				continue
			}
			messages[g] += f.messages
			for _, way := range f.ways {
				if l := way[side*(len(way)-1)]; !number[l] {
					number[l], links[g] = true, links[g]+x.Links[l].Rate()
				}
			}
		}
	}
	for g := range messages {
		least = max(least, messages[g]/links[g])
	}
	first := int32(2 * x.Hosts)
	return max(least, scheduler.Prove(lists.Map(x.Links[first:], scheduler.Link.Rate), anyRounds, func(weight, load []float64) (sum float64) {
		for _, f := range flows {
			best, least := 0, math.Inf(1)
			for i, way := range f.ways {
				cost := 0.0
				for _, l := range way {
					cost += weight[l-first]
				}
				if cost < least {
					best, least = i, cost
				}
			}
			for _, l := range f.ways[best] {
				load[l-first] += f.messages
			}
			sum += f.messages * least
		}
		return sum
	}).Time)
}

// A flow is the messages from hosts of one switch to those of another, and the ways that are known between them.
type flow struct {
	from, to int
	messages float64
	ways     [][]int32
}

// flows also returns how long the busiest host sends or receives.
func (x *Exchange) flows() (flows []flow, most float64) {
	n, group, of := x.Hosts, x.of.groupOf(), x.Paths.(scheduler.Listed).Of
	number, hosts := map[[2]int]int{}, make([]float64, 2*n)
	x.Each(func(src, dst int) {
		hosts[src] += 1 / x.Links[src].Rate()
		hosts[n+dst] += 1 / x.Links[dst].Rate()
		key := [2]int{group[src], group[dst]}
		at, ok := number[key]
		if !ok {
			at = len(flows)
			number[key], flows = at, append(flows, flow{from: key[0], to: key[1]})
		}
		f := &flows[at]
		f.messages++
		for _, way := range of[src*n+dst] {
			if !slices.ContainsFunc(f.ways, func(w []int32) bool { return slices.Equal(w, way) }) {
				f.ways = append(f.ways, way)
			}
		}
	})
	return flows, slices.Max(hosts)
}

// anyRounds of scheduler.Prove are enough for three digits.
const anyRounds = 400

// Write writes a plan file of form 4 over paths by ports: a row "phase src dst port" for each message, hosts by number.
func (p *Plan) Write(w io.Writer) error {
	others := fmt.Sprintf("# schedule %s\n# phases %d\n", cmp.Or(p.made, "balance"), p.Phases)
	if x := p.x; x.slow != nil {
		if p.times == "" {
			least, _, proof, weights := x.Bound(x.Problem)
			p.times = fmt.Sprintf("# time %.6g\n# bound %.6g %s\n%s", order.New(x.Problem, p.Path).Time(p.Plan), least, proof, weights)
		}
		others += p.times
	}
	return p.x.WriteText(w, p.Path, "", others, func(w io.Writer, row func(m int) string) {
		first, in := p.ByPhase()
		for phase := range p.Phases {
			for _, m := range in[first[phase]:first[phase+1]] {
				fmt.Fprintf(w, "%d %s\n", phase, row(int(m)))
			}
		}
	})
}

// WriteText writes a plan file over paths by ports, of which each message takes a candidate. The hash covers the lines
// of sizes and not others; list writes the rows, in which row is "src dst port" of a message.
func (x *Exchange) WriteText(w io.Writer, path []uint8, sizes, others string, list func(w io.Writer, row func(m int) string)) error {
	out, sum := bufio.NewWriter(w), sha256.New()
	fmt.Fprintln(out, judge.First)
	head := io.MultiWriter(out, sum)
	fmt.Fprintf(head, "# hosts %d\n", x.Hosts)
	x.roles.write(head)
	fmt.Fprintf(head, "# paths %s\n", x.of.sum())
	if x.slow != nil {
		fmt.Fprintf(head, "# slow %s\n", strings.Join(x.slow, ","))
	}
	io.WriteString(head, sizes)
	for i, h := range x.of.Hosts {
		fmt.Fprintf(out, "# x-host %d %s\n", i, h)
	}
	fmt.Fprintf(out, "# x-port %d\n", x.of.Port)
	x.spares(out, path)
	fmt.Fprint(out, others)
	var rows bytes.Buffer
	list(&rows, func(m int) string {
		port := noPort
		if n := x.port(path, m); n != None {
			port = fmt.Sprint(n)
		}
		return fmt.Sprintf("%d %d %s", m/x.Hosts, m%x.Hosts, port)
	})
	sum.Write(rows.Bytes())
	fmt.Fprintf(out, "# hash sha256:%x\n%s", sum.Sum(nil), rows.Bytes())
	return out.Flush()
}

// Judged has the judge of plans read the plan as a file, and hold it against the paths.
func (p *Plan) Judged() (*judge.File, error) {
	var text bytes.Buffer
	if err := p.Write(&text); err != nil {
		return nil, err
	}
	f, err := judge.Read(&text)
	if err != nil {
		return nil, fmt.Errorf("the judge cannot read the plan: %w", err)
	}
	over, err := p.x.of.ForJudge()
	if err == nil {
		err = over.Suits(f)
	}
	if err != nil {
		return nil, err
	}
	if r := judge.Check(f, judge.Options{Ports: over, First: 1}); !r.Valid {
		return nil, fmt.Errorf("the judge refuses the plan: %s", r.Offences[0].Text)
	}
	return f, nil
}

// port is that of a message, on the way back of a connection that of the connection.
func (x *Exchange) port(path []uint8, m int) int {
	port := x.ports[m][candidate(path, m)]
	return max(port, -port)
}

func (p *Plan) port(m int) int { return p.x.port(p.Path, m) }

// candidate is which of the ports of a message it takes.
func (p *Plan) candidate(m int) int { return candidate(p.Path, m) }

func candidate(path []uint8, m int) int {
	if path == nil {
		return 0
	}
	return int(path[m])
}

// Sized is the problem of the messages that have bytes, by src·Hosts + dst.
func (x *Exchange) Sized(bytes []int64) *scheduler.Problem {
	p := *x.Problem
	p.Bytes = bytes
	p.Meets = func(src, dst int) bool { return x.roles.meet(src, dst) && bytes[src*x.Hosts+dst] > 0 }
	return &p
}

// finest is the greatest weight of a link: a share of a millionth counts.
const finest = 1e6

// Bound is a time that no plan of messages goes below, all or those of Sized: what the busiest host needs, a link, or, where that is
// more, what whole weights of links prove. A plan states proof and weights.
func (x *Exchange) Bound(p *scheduler.Problem) (time float64, host int, proof, weights string) {
	hosts := 2 * p.Hosts
	load := make([]float64, hosts)
	p.Each(func(src, dst int) {
		size := p.Size(src*p.Hosts + dst)
		load[src] += size
		load[p.Hosts+dst] += size
	})
	for l := range load {
		load[l] /= p.Links[l].Rate()
	}
	time = slices.Max(load)
	host = slices.Index(load, time)
	if proof = x.LinkName(host); x.both { // a file does not say so, and other ports may be lighter
		return time, host, proof, ""
	}
	least, whole, all := p.Least().Weights, make([]float64, len(p.Links)), 0.0
	for l, most := hosts, slices.Max(least); l < len(least); l++ {
		whole[l] = math.Trunc(finest * least[l] / most)
		all += whole[l] * p.Links[l].Rate()
	}
	if by := p.Weigh(whole) / max(1, all); by*(1-1e-12) > time {
		time, proof = by, judge.WeightKey
		for l, weight := range whole {
			if weight > 0 {
				weights += fmt.Sprintf("# %s %.0f %s\n", judge.WeightKey, weight, x.LinkName(l))
			}
		}
	}
	return time, host, proof, weights
}

// Slow says which cables are slower than a message; nil: none.
func (x *Exchange) Slow() []string {
	if x.slow == nil {
		return nil
	}
	return []string{"slow, as the paths say: " + show.Few(x.slow)}
}

// LinkName is the name of a link, or of the host that sends or receives by it.
func (x *Exchange) LinkName(link int) string {
	if n := x.Hosts; link >= 2*n {
		return x.names[link-2*n]
	}
	return x.of.Hosts[link%x.Hosts].Name
}

// sum names the content of paths, as a plan states it.
func (p *Paths) sum() string {
	h := sha256.New()
	_ = p.Write(h) // a hash takes all
	return fmt.Sprintf("sha256:%x", h.Sum(nil))
}

// Answer says what the exchange takes with chosen ports, and without.
func (p *Plan) Answer() answer.Answer {
	m := promise.Promise{Kind: promise.Ports, Takes: p.Steps, Least: p.Least}
	f := m.Finding(fmt.Sprintf("with the ports of the plan the exchange takes %s steps", promise.Amount(p.Steps)), "; linear shift over plain ECMP takes "+promise.Amount(p.Linear))
	if p.FullestLink == "" {
		return answer.Decide(answer.Takes, answer.Evidence{Findings: []answer.Finding{f}, Why: append(p.x.Slow(), "all hosts are behind one switch, so no port chooses a path")})
	}
	why := []string{
		fmt.Sprintf("plain ECMP, of which the first port of each pair is a sample, puts %s on %s; the plan puts %d on its fullest link", show.Plural(p.Fullest, "message", "messages"), p.FullestLink, p.FullestPlan),
		"with any ports on these links, also those not asked about, no plan takes less than " + promise.Amount(p.Any) + " steps",
	}
	most := slices.MaxFunc(p.x.ports, func(a, b []int) int { return len(a) - len(b) })
	if p.Steps > p.Least && len(most) < enoughPorts {
		why = append(why, fmt.Sprintf("pairs have %s at most; with %d (evbench paths --ports %[2]d) plans come nearer to that", show.Plural(len(most), "port", "ports"), enoughPorts))
	}
	return answer.Decide(answer.Takes, answer.Evidence{Findings: []answer.Finding{f}, Why: append(why, p.x.Slow()...)})
}

// enoughPorts a pair bring a plan within 5 % of the least where all links are as full as hosts: 326 hosts behind 18 leaves take
// 344 steps with two ports, 342 with three and 341 with four, and 325 are the least.
const enoughPorts = 4
