package opensm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"evbench/companion"
	"evbench/failover"
	"evbench/internal/atomicfile"
	"evbench/plan"
	"evbench/site/netfile"
	"evbench/site/network"
	"evbench/site/osmlog"
	"evbench/topology"
)

// SubnetOptions say how to reach a subnet and its OpenSM.
type SubnetOptions struct {
	Manager *Manager
	Options
	// Discover returns the current network, in the form of ibnetdiscover.
	Discover Reader
	// Tell is called for each step, from several goroutines, one call at a time. nil is allowed.
	Tell func(Step)
}

// A Step is an observation or action.
type Step struct {
	At   time.Time // when it was done
	What string
	Took time.Duration // 0 for observations
	Err  error         // it failed, and is retried
}

// A Subnet is a network under a running OpenSM with engine file. Its links are followed, and it
// gets the tables of plans. It implements the Network of package failover/loop.
//
// OpenSM's engine file repairs nothing: after a link has failed OpenSM sweeps and loads the same
// file again, and packets through the dead port are lost until the tables of a new plan are loaded.
// First aid would be a sweep of its own and delay those; so there is none.
type Subnet struct {
	o      SubnetOptions
	net    *network.Network
	places *network.Places
	tree   *topology.Tree

	telling sync.Mutex
	mu      sync.Mutex
	links   *links
	busy    bool          // tables are being installed
	calm    chan struct{} // closed while OpenSM has no reason to sweep, according to its log
}

// NewSubnet returns the subnet of a network with all cables alive, and the tree of the plans for
// it, in which the initially dead links are dead.
func NewSubnet(n *network.Network, t *topology.Tree, o SubnetOptions) (*Subnet, error) {
	places, err := network.MatchPlan(t, n)
	if err != nil {
		return nil, err
	}
	if o.Discover == nil {
		return nil, errors.New("no way to discover the network")
	}
	s := &Subnet{o: o, net: n, places: places, tree: t.Healthy(), links: newLinks(t, places, n), calm: make(chan struct{})}
	o.Manager.Installation(false)
	o.Manager.step = func(what string, began time.Time) { s.tell(what, began, nil) }
	close(s.calm)
	return s, nil
}

func (s *Subnet) tell(what string, began time.Time, err error) {
	if s.o.Tell == nil {
		return
	}
	s.telling.Lock()
	defer s.telling.Unlock()
	now := time.Now()
	step := Step{At: now, What: what, Err: err}
	if !began.IsZero() {
		step.Took = now.Sub(began)
	}
	s.o.Tell(step)
}

// Now discovers the network and returns the tree with the dead links.
func (s *Subnet) Now(ctx context.Context) (*topology.Tree, error) {
	if _, err := s.discover(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tree.Without(s.links.dead()...)
}

func (s *Subnet) discover(ctx context.Context) ([]failover.LinkEvent, error) {
	ctx, cancel := s.o.Manager.limit(ctx)
	defer cancel()
	began := time.Now()
	text, err := s.o.Discover(ctx, atomicfile.MaxList)
	if err != nil {
		return nil, fmt.Errorf("discover the network: %w", err)
	}
	n, err := netfile.ReadIB(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("discover the network: %w", err)
	}
	s.mu.Lock()
	events := s.links.find(n, time.Now())
	s.mu.Unlock()
	s.tell("discovered the network", began, nil)
	return events, nil
}

// Watch implements loop.Network. It follows OpenSM's log. Lines that name a port are events. After
// others, such as a switch's notice of a change of some port, and after each sweep, the network is
// discovered and compared: upstream OpenSM never names a port that has come up. Without a usable
// log the network is discovered again and again. When OpenSM restarts, or another one takes over,
// Watch follows its log. Then, and after each sweep, the switches get the tables of the last plan if
// they hold others: somebody else may have made OpenSM load them.
func (s *Subnet) Watch(ctx context.Context, events chan<- failover.LinkEvent) error {
	h := &hearing{s: s, m: s.o.Manager}
	defer h.close()
	swept := make(chan struct{}, 1)
	var beside sync.WaitGroup
	defer beside.Wait()
	defer close(swept)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	beside.Go(func() {
		for range swept {
			s.compare(ctx)
		}
	})
	h.hear(ctx)
	tick := time.NewTicker(poll)
	defer tick.Stop()
	ask := time.NewTicker(buffered)
	defer ask.Stop()
	l := look{urgent: true} // begins with a discovery, for earlier changes
	for looked, compared := time.Now(), time.Now(); ; {
		lines, err := h.lines()
		if err != nil {
			return fmt.Errorf("OpenSM's log: %w", err)
		}
		if err := send(ctx, events, s.read(lines, &l)); err != nil {
			return err
		}
		l.check = l.check || h.deaf() && time.Since(looked) > unheard
		if s.due(l) {
			if l.check && (!h.deaf() || time.Since(compared) > unswept) {
				compared = time.Now()
				select {
				case swept <- struct{}{}:
				default: // it begins after this sweep, too
				}
			}
			l, looked = s.probe(ctx, events), time.Now()
		}
		select {
		case <-tick.C:
		case <-ask.C:
			if h.hear(ctx) {
				l, looked = s.probe(ctx, events), time.Now()
				s.bringBack(ctx)
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

const (
	buffered = time.Second      // how often OpenSM is looked for, and asked to write its buffered log
	unheard  = 2 * time.Second  // interval of discoveries without a log
	unswept  = 30 * time.Second // interval of comparisons without a log, which would report sweeps
)

// bringBack reinstalls the last tables if another OpenSM has loaded others.
func (s *Subnet) bringBack(ctx context.Context) {
	s.mu.Lock()
	s.sweeps(false) // pending work of the earlier OpenSM is unknown now
	s.mu.Unlock()
	s.again(ctx, s.o.Manager.Holds)
}

// compare reinstalls the last tables if the switches hold others. It first reads without delaying an
// installation.
func (s *Subnet) compare(ctx context.Context) {
	m := s.o.Manager
	if last := m.Installation(false).Last(); last != nil && m.altered(ctx, last) != nil {
		s.again(ctx, m.altered)
	}
}

func (s *Subnet) again(ctx context.Context, holds func(context.Context, companion.Tables) error) {
	began := time.Now()
	done, err := s.o.Manager.Installation(false).Again(ctx, holds)
	if done && ctx.Err() == nil {
		s.tell("the switches held other tables than the plan's, which was installed again", began, err)
	}
}

// A look is the reason for a discovery.
type look struct {
	// urgent: the log reports an unspecified change.
	urgent bool
	// check: OpenSM has swept, perhaps for a reason not in its log. That must not delay an
	// installation, which makes it sweep too.
	check bool
	after time.Time // earliest time, after a failure
}

func (s *Subnet) due(l look) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return (l.urgent || l.check && !s.busy) && !time.Now().Before(l.after)
}

const again = time.Second

// probe discovers the network, sends the changes and returns what is left to do.
func (s *Subnet) probe(ctx context.Context, events chan<- failover.LinkEvent) look {
	began := time.Now()
	found, err := s.discover(ctx)
	if err == nil {
		err = send(ctx, events, found)
	}
	if ctx.Err() != nil || err == nil {
		return look{}
	}
	s.tell("discover the network", began, err)
	return look{urgent: true, after: time.Now().Add(again)}
}

func send(ctx context.Context, to chan<- failover.LinkEvent, events []failover.LinkEvent) error {
	for _, e := range events {
		select {
		case to <- e:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (s *Subnet) read(lines []string, l *look) (events []failover.LinkEvent) {
	for _, line := range lines {
		said, ok := heard(line)
		if !ok {
			continue
		}
		s.tell("log: "+s.describe(said), time.Time{}, nil)
		s.mu.Lock()
		found, unclear := s.links.say(said, time.Now())
		s.sweeps(said.Kind != osmlog.Swept)
		s.mu.Unlock()
		events = append(events, found...)
		l.check = l.check || said.Kind == osmlog.Swept
		if unclear && said.Kind != osmlog.Swept {
			l.urgent, l.after = true, time.Time{}
		}
	}
	return events
}

// sweeps records that OpenSM has a reason to sweep, or has swept.
func (s *Subnet) sweeps(busy bool) {
	idle := true
	select {
	case <-s.calm:
	default:
		idle = false
	}
	switch {
	case busy && idle:
		s.calm = make(chan struct{})
	case !busy && !idle:
		close(s.calm)
	}
}

var words = map[osmlog.Kind]string{
	osmlog.WentDown: "is down", osmlog.Unlinked: "is down", osmlog.CameUp: "is up", osmlog.Noticed: "has changed",
	osmlog.NodeGone: "is gone", osmlog.NodeBack: "is back", osmlog.Swept: "OpenSM has swept",
}

// heard parses one line of the log. Lines not about ports, truncated ones, and a port's steps from
// DOWN to ACTIVE after the first are not ok.
func heard(line string) (m osmlog.Message, ok bool) {
	l, verdict := osmlog.Parse([]byte(line))
	return l.Message, verdict == osmlog.Good && l.Kind != osmlog.Progressed
}

func (s *Subnet) describe(said osmlog.Message) string {
	if said.GUID == 0 {
		return words[said.Kind]
	}
	name := fmt.Sprintf("0x%016x", said.GUID)
	for v := range network.Node(s.net.Nodes()) {
		if i := s.net.Info(v); i.GUID == said.GUID || i.Port == said.GUID {
			name = i.Name
		}
	}
	if said.Port != 0 {
		name = fmt.Sprintf("%s port %d", name, said.Port)
	}
	return name + " " + words[said.Kind]
}

// Aid implements loop.Network: it waits for OpenSM's sweep after the changes in its log, and
// changes nothing.
func (s *Subnet) Aid(ctx context.Context, _ *topology.Tree) (int, error) {
	ctx, cancel := s.o.Manager.limit(ctx)
	defer cancel()
	s.mu.Lock()
	calm := s.calm
	s.mu.Unlock()
	select {
	case <-calm:
		return 0, nil
	case <-ctx.Done():
		return 0, fmt.Errorf("OpenSM's log has not reported a sweep: %w", context.Cause(ctx))
	}
}

// Install implements loop.Network: it makes the tables of a plan and has OpenSM load them. It does
// not wait for a sweep under way, which may include the new file.
func (s *Subnet) Install(ctx context.Context, p *plan.Plan) (changed int, err error) {
	s.installs(true)
	defer s.installs(false)
	began := time.Now()
	r, err := Compute(p, s.net, s.o.Options)
	if err != nil {
		return 0, err
	}
	s.tell("tables made and checked", began, nil)
	return s.put(ctx, r)
}

// put has OpenSM load tables. Except for the first ones, it waits for an OpenSM that restarts or
// takes over.
func (s *Subnet) put(ctx context.Context, r *Routes) (changed int, err error) {
	limited, cancel := s.o.Manager.limit(ctx)
	defer cancel()
	for {
		changed, err = s.o.Manager.Install(ctx, r)
		if !absent(err) || s.o.Manager.Installation(false).Last() == nil {
			return changed, err
		}
		select {
		case <-time.After(again):
		case <-limited.Done():
			return 0, err
		}
	}
}

func (s *Subnet) installs(busy bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy = busy
}

// Clean implements loop.Network. It does nothing: OpenSM has one set of tables, which has been read
// back.
func (s *Subnet) Clean(context.Context, *plan.Plan) (int, error) { return 0, nil }
