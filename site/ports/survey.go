package ports

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"evbench/controller/wire"
	"evbench/internal/lists"
	"evbench/routing"
	"evbench/scheduler/balance"
	"evbench/scheduler/order"
)

// Options of a Survey.
type Options struct {
	Ports    int    // of each host to each other one
	Protocol string // TCP or RoCE; "": TCP
	// All asks on until each pair of hosts has a port for each way between its switches: a plan can choose any then.
	All bool
	// Both asks for the ways back of the connections, too: some programs send over one connection in both directions. The
	// destination port must then be free on all hosts.
	Both bool
	Seed uint64
	// Avoid are ports of each host, by number, that connections have: no question leaves from them. nil: none.
	Avoid [][]int
	// Gap is the time between two questions of a host at the start. 0: the least.
	Gap time.Duration
	// Tell gets the state after each round; nil is allowed.
	Tell func(Progress)
}

// Progress is how far a survey is.
type Progress struct{ Known, Of int }

// An Ask has each host, by number, follow its trails, gap apart, all at the same time.
type Ask func(ctx context.Context, trails [][]wire.Trail, gap time.Duration) ([][]wire.Seen, error)

// A Survey is the paths found, and what there is to say about how.
type Survey struct {
	Paths   Paths
	Taken   []string // ports that others had, so that another was asked
	Failed  []string // pairs for which the kernel refused to ask, and why
	Asked   int
	Gap     time.Duration // between two questions of a host, at the end
	Checked int           // rows asked twice
	// Of Options.All: the most ways between two switches, and the pairs that lack one after as many ports as are asked about.
	Ways, Short int
}

const (
	firstHop = 2 // the switch of the source itself, TTL 1, has nothing to choose for a host yet
	// maxHop is the last TTL: no leaf/spine network has more than five switches on a way.
	maxHop = 9
	// passes is how often a switch without an answer is asked.
	passes = 4
	// chunk is how many ports a host asks about in a round, after which the pace is set anew.
	chunk = 64
	// Twice is how many destinations each host asks for a second time, to notice networks that spray.
	twice = 16
	// Source ports are drawn below those that kernels give to others (ip_local_port_range).
	lowPort, portRange = 20000, 12000

	// mostDraws is how many ports are drawn for one path, where others have them.
	mostDraws = 64

	leastGap, mostGap = time.Millisecond, time.Second
)

// pace returns the gap for the next round from that of the last one, of whose questions some stayed without an answer.
// Switches limit their answers, and say nothing else: more than one silence in twenty doubles the gap, fewer take a quarter from
// it. Linux' default, one answer a second and host, is the widest.
func pace(gap time.Duration, asked, silent int) time.Duration {
	if silent*20 > asked {
		return min(2*gap, mostGap)
	}
	return max(gap*3/4, leastGap)
}

// A question is a row and whether its end is known.
type question struct {
	Row
	tries   int   // ports drawn so far; of a plan, rounds in which its port was in use
	tried   []int // candidates of a plan whose ports were in use
	lost    int   // trails with a switch that did not answer
	reached bool
	failed  bool
	extra   bool // of Options.All
}

// trail is the next one to follow; ok is false where all is known.
func (q *question) trail() (t wire.Trail, ok bool) {
	if q.failed || q.lost == passes {
		return t, false
	}
	t.Port = q.Port
	if !q.reached {
		for len(q.Hops) > 0 && len(q.Hops[len(q.Hops)-1]) == 0 {
			q.Hops = q.Hops[:len(q.Hops)-1]
		}
		t.First, t.Last = firstHop+len(q.Hops), maxHop
		return t, t.First <= t.Last
	}
	i := slices.IndexFunc(q.Hops, func(h Hop) bool { return len(h) == 0 })
	t.First, t.Last = firstHop+i, firstHop+i
	return t, i >= 0
}

// take adds what a trail has seen, and returns how many questions that were and how many had no answer.
func (q *question) take(t wire.Trail, s wire.Seen) (asked, silent int) {
	for i, text := range s.Hops {
		at := t.First - firstHop + i
		for len(q.Hops) <= at {
			q.Hops = append(q.Hops, nil)
		}
		asked++
		a, err := netip.ParseAddr(text)
		switch {
		case err != nil, slices.ContainsFunc(slices.Concat(q.Hops[:at], q.Hops[at+1:]), func(h Hop) bool { return slices.Contains(h, a) }):
			silent++ // no way passes an interface twice: this is a late answer to another question
		case !slices.Contains(q.Hops[at], a):
			q.Hops[at] = append(q.Hops[at], a)
			slices.SortFunc(q.Hops[at], netip.Addr.Compare)
		}
	}
	if s.Reached {
		asked++
		// It is nearer than it seemed where an answer of its own was late at first, as while a switch looks for its hardware address.
		if end := t.First - firstHop + len(s.Hops); end < len(q.Hops) && lists.CountIf(q.Hops[end:], func(h Hop) bool { return len(h) > 0 }) == 0 {
			q.Hops = q.Hops[:end]
		}
	}
	if silent > 0 || len(s.Hops) == 0 && (q.reached || !s.Reached) { // no switch, where one is asked for behind which the destination is known
		q.lost++
	}
	q.reached = q.reached || s.Reached
	return asked, silent
}

// trail completes one from a host to a port of another one.
func (p *Paths) trail(src, dst, port int, t wire.Trail) wire.Trail {
	t.From, t.To, t.UDP = p.Hosts[src].Addr.String(), netip.AddrPortFrom(p.Hosts[dst].Addr, uint16(port)).String(), p.Protocol == RoCE
	return t
}

type surveying struct {
	*Survey
	o         Options
	ask       Ask
	questions [][]*question // by source
	used      []map[int]bool
	given     []int // by source: ports given up
	dropped   []int // by src·hosts + dst: questions of Options.All whose way was known already
	gap       time.Duration
	taken     func(q *question, why string) error // what to do where a port is in use; nil: another is drawn
}

// Run asks for the paths between hosts to a destination port. What is known when ctx or ask ends it is in the Survey, with
// the error.
func Run(ctx context.Context, hosts []Host, port int, o Options, ask Ask) (Survey, error) {
	s := &surveying{Survey: &Survey{Paths: Paths{Protocol: cmp.Or(o.Protocol, TCP), Port: port, Hosts: hosts, Names: map[netip.Addr]string{}}}, o: o, ask: ask, gap: max(o.Gap, leastGap)}
	n := len(hosts)
	for src := range n {
		s.used = append(s.used, map[int]bool{})
		for i := 0; o.Avoid != nil && i < len(o.Avoid[src]); i++ {
			s.used[src][o.Avoid[src][i]] = true
		}
	}
	for src := range n {
		s.questions, s.given = append(s.questions, nil), append(s.given, 0)
		for step := 1; step < n; step++ { // all begin with another one
			s.add(src, (src+step)%n, o.Ports, false)
		}
	}
	err := s.all(ctx)
	switch run := func() error { return s.all(ctx) }; {
	case err != nil:
	case o.All:
		err = s.untilAll(run)
	case o.Avoid == nil:
		err = s.fuller(run)
	}
	if err == nil && o.Both {
		s.back()
		err = s.all(ctx)
	}
	if err == nil && o.Avoid == nil { // else events wait, and whether the network sprays is known
		_, err = s.pass(ctx, s.again)
	}
	s.Paths.Rows, s.Gap = s.rows(), s.gap
	return *s.Survey, err
}

func (s *surveying) all(ctx context.Context) error {
	for {
		asked, err := s.pass(ctx, (*question).trail)
		if err != nil || !asked {
			return err
		}
	}
}

// back adds a question for the way back of each connection that passes several switches.
func (s *surveying) back() {
	for src, all := range s.questions {
		for _, q := range all {
			if q.Src == src && q.Port > 0 && q.reached && len(q.Hops) > 0 {
				s.questions[q.Dst] = append(s.questions[q.Dst], &question{Row: Row{Src: q.Dst, Dst: src, Port: -q.Port}})
			}
		}
	}
}

// again is the trail that asks for a known path a second time; the destination itself is left out.
func (s *surveying) again(q *question) (t wire.Trail, ok bool) {
	n := len(s.Paths.Hosts)
	step := (q.Dst - q.Src + n) % n
	every := max(1, (n-1)/twice)
	if q.failed || !q.reached || len(q.Hops) == 0 || step%every != 0 {
		return t, false
	}
	s.Checked++
	return wire.Trail{Port: q.Port, First: firstHop, Last: firstHop + len(q.Hops) - 1}, true
}

// draw gives a question another port, if it can be one that its source has not yet.
func (s *surveying) draw(q *question) {
	n, used, other := len(s.Paths.Hosts), s.used[q.Src], map[int]bool(nil)
	if s.o.Both { // so that a port says which of two hosts connects
		other = s.used[q.Dst]
	}
	for range mostDraws {
		key := (uint64(q.Src*n+q.Dst)*1024+uint64(q.tries))*uint64(s.o.Ports+1) + uint64(len(used)+s.given[q.Src])
		q.tries++
		if q.Port = lowPort + int(routing.Mix(s.o.Seed, key)%portRange); s.Paths.Protocol == RoCE { // a label of 0 is none
			q.Port += rocePorts + 1 - lowPort
		}
		if !used[q.Port] && !other[q.Port] {
			break
		}
	}
	used[q.Port] = true
}

// pass asks every question that has a next trail once, in rounds; asked is false where none has.
func (s *surveying) pass(ctx context.Context, next func(*question) (wire.Trail, bool)) (asked bool, err error) {
	at := make([]int, len(s.questions))
	for {
		trails, of := make([][]wire.Trail, len(at)), make([][]*question, len(at))
		more := false
		for src, all := range s.questions {
			for ; at[src] < len(all) && len(of[src]) < chunk; at[src]++ {
				q := all[at[src]]
				t, ok := next(q)
				if !ok {
					continue
				}
				to := s.Paths.Port
				if q.Port < 0 {
					t.Port, to = s.Paths.Port, -q.Port
				}
				t = s.Paths.trail(src, q.Dst, to, t)
				trails[src], of[src], more = append(trails[src], t), append(of[src], q), true
			}
		}
		if !more {
			return asked, nil
		}
		seen, err := s.ask(ctx, trails, s.gap)
		if err != nil {
			return asked, err
		}
		asked = true
		if err := s.answers(trails, of, seen); err != nil {
			return asked, err
		}
	}
}

func (s *surveying) answers(trails [][]wire.Trail, of [][]*question, seen [][]wire.Seen) error {
	asked, silent := 0, 0
	for src, all := range of {
		for i, q := range all {
			x := wire.Seen{Err: "its worker cannot ask"}
			if i < len(seen[src]) {
				x = seen[src][i]
			}
			switch {
			case s.taken != nil && (x.InUse || x.Err != ""):
				if err := s.taken(q, x.Err); err != nil {
					return err
				}
			case x.InUse && q.Port > 0 && q.tries < mostDraws:
				s.Taken = append(s.Taken, fmt.Sprintf("port %d of %s", q.Port, s.Paths.Hosts[src].Name))
				s.draw(q)
			case x.InUse || x.Err != "":
				q.failed = true
				if x.Err == "" && q.Port < 0 {
					x.Err = fmt.Sprintf("port %d is in use there, so the way back from it is not known", s.Paths.Port)
				}
				x.Err = cmp.Or(x.Err, "all ports that were drawn are in use")
				s.Failed = append(s.Failed, fmt.Sprintf("%s to %s: %s", s.Paths.Hosts[src].Name, s.Paths.Hosts[q.Dst].Name, x.Err))
			default:
				n, none := q.take(trails[src][i], x)
				asked, silent = asked+n, silent+none
			}
		}
	}
	s.Asked += asked
	s.gap = pace(s.gap, asked, silent)
	if s.o.Tell == nil {
		return nil
	}
	var p Progress
	s.each(func(q *question) {
		p.Of++
		if q.reached && q.Known() {
			p.Known++
		}
	})
	s.o.Tell(p)
	return nil
}

// rows are all questions of which something is known. A pair whose destination answers after the first
// switch is behind that switch.
func (s *surveying) rows() (out []Row) {
	for _, all := range s.questions {
		one := map[int]bool{}
		for _, q := range all {
			switch r := q.Row; {
			case q.failed:
			case q.reached && len(r.Hops) == 0 && r.Port > 0:
				if !one[r.Dst] {
					one[r.Dst] = true
					out = append(out, Row{Src: r.Src, Dst: r.Dst})
				}
			default:
				if !q.reached {
					r.Hops = append(r.Hops, nil)
				}
				out = append(out, r)
			}
		}
	}
	slices.SortFunc(out, compareRows)
	return out
}

// mostMore is how many ports more than asked for a pair may get.
const mostMore = 4

// fuller asks for a port more of each pair whose messages meet on a link that has more of them, however these choose among their ports, than
// where they had any.
func (s *surveying) fuller(run func() error) error {
	for range mostMore {
		p := s.Paths
		p.Rows = s.rows()
		x, err := NewExchange(&p, Roles{})
		if err != nil { // of unknown paths, of which Answer says more
			return nil
		}
		path := balance.Choose(x.Problem)
		load, least, added := order.New(x.Problem, path).Loads(), int32(whole(x.leastOfAny())), false
		x.Each(func(src, dst int) {
			if slices.ContainsFunc(x.Paths.Append(nil, src, dst, int(path[src*x.Hosts+dst])), func(l int32) bool { return load[l] > least }) {
				added = true
				s.add(src, dst, 1, false)
			}
		})
		if !added {
			return nil
		}
		if err := run(); err != nil {
			return err
		}
	}
	return nil
}

// Estimate is how many questions a survey of some hosts has at least, if the network has two levels, and how long it takes
// where switches answer at the least gap.
func Estimate(hosts int, o Options) (questions int, least time.Duration) {
	each := (hosts - 1) * o.Ports * 3
	each += min(hosts-1, twice) * o.Ports * 2
	if o.Both {
		each *= 2
	}
	return hosts * each, time.Duration(each) * max(o.Gap, leastGap)
}
