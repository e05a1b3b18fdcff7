package tables

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"sync"
	"time"

	"evbench/failover"
	"evbench/failover/loop"
	"evbench/model/anyshape"
	"evbench/plan"
	"evbench/site/lft"
	"evbench/topology"
)

// A dump is the tables of a network of hosts, as a command prints them.
type dump struct {
	net     *anyshape.Network
	name    string
	command func(ctx context.Context, most int) ([]byte, error)
	limit   time.Duration // of a call
}

func (d *dump) text(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, d.limit, fmt.Errorf("%s: not within %s", d.name, d.limit))
	defer cancel()
	return d.command(ctx, maxDump)
}

// tables reads a text. sum is what it says about the messages of a plan. Tables that lose one are an error: a
// manager loads switch after switch, and a tool leaves out those that do not answer.
func (d *dump) tables(text []byte, p *plan.Plan) (t *lft.Tables, sum string, err error) {
	if t, err = lft.Read(bytes.NewReader(text), d.net.Net); err == nil {
		sum, err = d.net.Sum(t, &p.Tree.Roles)
	}
	if err != nil {
		return nil, "", fmt.Errorf("%s: %v", d.name, err) // no failover.Disconnected, which ends the run
	}
	return t, sum, nil
}

func (d *dump) read(ctx context.Context, p *plan.Plan) (*lft.Tables, string, error) {
	text, err := d.text(ctx)
	if err != nil {
		return nil, "", err
	}
	return d.tables(text, p)
}

// holds reports where the network has other tables than a plan.
func (d *dump) holds(ctx context.Context, p *plan.Plan) (sum string, err error) {
	have, sum, err := d.read(ctx, p)
	if err == nil {
		err = anyshape.Holds(p, have)
	}
	return sum, err
}

// A dumped network reads its tables from a command while a case runs. Nothing reports when a manager loads other
// tables, so the command runs every second (lookAgain).
type dumped struct {
	*dump
	say  func(string)
	plan *plan.Plan // of the case

	mu    sync.Mutex
	known string // the sum of the tables reported or planned over last; "": those in place are to be reported

	sure  time.Time     // when they were seen last
	blind time.Duration // longest time without
	why   string        // of that
}

// lookAgain is the pause between two looks at the tables. They count as changed once two looks have shown the
// same: a manager loads switch after switch. Unrest that lasts someLooks is said.
const (
	lookAgain = time.Second
	someLooks = 5
)

// Watch implements loop.Network. A reason why tables are not known is said once in a row.
func (n *dumped) Watch(ctx context.Context, events chan<- failover.LinkEvent) error {
	before, said := n.seen(), "" // the sum of the last look; what is wrong since
	others := 0                  // looks in a row that showed other tables than the one before
	sum, of := "", [sha256.Size]byte{}
	say := func(text string) {
		if ctx.Err() == nil && text != said {
			said = text
			n.say(text)
		}
	}
	n.sure = time.Now()
	defer func() { n.saw("", said) }()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lookAgain):
		}
		text, err := n.lookUp(ctx, say)
		if is := sha256.Sum256(text); err == nil && is != of {
			of = is
			_, sum, err = n.tables(text, n.plan)
		}
		if err != nil {
			before, of = "", [sha256.Size]byte{}
			say(err.Error())
			continue
		}
		if others++; sum == before {
			others = 0
		}
		switch {
		case others == someLooks:
			say(fmt.Sprintf("%s: it shows other tables at each of %d looks: an order needs the same at two", n.name, others))
		case others < someLooks:
			said = ""
		}
		n.mu.Lock()
		news := sum == before && sum != n.known
		if before = sum; news {
			n.known = sum
		}
		n.mu.Unlock()
		if others == 0 {
			n.saw(sum, said)
		}
		if news {
			select {
			case events <- failover.LinkEvent{Moved: true, Seen: time.Now()}:
			case <-ctx.Done():
			}
		}
	}
}

// lookUp reads the text. That it hangs is said meanwhile.
func (n *dumped) lookUp(ctx context.Context, say func(string)) ([]byte, error) {
	type answer struct {
		text []byte
		err  error
	}
	came := make(chan answer, 1)
	go func() {
		text, err := n.text(ctx)
		came <- answer{text, err}
	}()
	hung := time.NewTimer(someLooks * lookAgain)
	defer hung.Stop()
	for {
		select {
		case a := <-came:
			return a.text, a.err
		case <-hung.C:
			say(fmt.Sprintf("%s: it has not ended for %s", n.name, someLooks*lookAgain))
		}
	}
}

func (n *dumped) seen() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.known
}

// saw notes whether the tables of the plan in use were seen just now, and if not, why.
func (n *dumped) saw(sum, why string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now()
	if blind := now.Sub(n.sure); blind > n.blind {
		n.blind, n.why = blind, cmp.Or(why, n.why)
	}
	if sum != "" && sum == n.known {
		n.sure = now
	}
}

// Doubt implements loop.Doubter.
func (n *dumped) Doubt() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.blind <= someLooks*lookAgain {
		return ""
	}
	return fmt.Sprintf("for %s it was not known whether the network had the tables of the plan: %s", n.blind.Round(lookAgain), cmp.Or(n.why, n.name+": it shows others"))
}

// Plan implements loop.Planner: the best order over the tables that the network has now.
func (n *dumped) Plan(ctx context.Context, servers *topology.Tree) (loop.Made, error) {
	t, sum, err := n.read(ctx, n.plan)
	n.keep(ctx, sum, err)
	if err != nil {
		return loop.Made{}, err
	}
	return again(n.net, n.plan, t, servers)
}

// Install implements loop.Network. It changes nothing, and looks whether the tables are those of the plan.
func (n *dumped) Install(ctx context.Context, p *plan.Plan) (changed int, err error) {
	sum, err := n.holds(ctx, p)
	n.keep(ctx, sum, err)
	return 0, err
}

// keep notes the tables that a plan is for. Where they could not be read, or are others, Watch reports those
// that it sees next: the machine gives up after some attempts.
func (n *dumped) keep(ctx context.Context, sum string, err error) {
	if err != nil {
		sum = ""
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if ctx.Err() == nil {
		n.known = sum
	}
}

// Aid implements loop.Network: the manager's work, not evbench's.
func (n *dumped) Aid(context.Context, *topology.Tree) (changed int, err error) { return 0, nil }

// Clean implements loop.Network: no route is evbench's.
func (n *dumped) Clean(context.Context, *plan.Plan) (changed int, err error) { return 0, nil }
