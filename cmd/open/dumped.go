package open

import (
	"bytes"
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

type sum = [sha256.Size]byte // of a text

func (d *dump) text(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, d.limit)
	defer cancel()
	return d.command(ctx, maxDump)
}

func (d *dump) read(ctx context.Context) (*lft.Tables, sum, error) {
	text, err := d.text(ctx)
	if err != nil {
		return nil, sum{}, err
	}
	t, err := lft.Read(bytes.NewReader(text), d.net.Net)
	if err != nil {
		return nil, sum{}, fmt.Errorf("%s: %w", d.name, err)
	}
	return t, sha256.Sum256(text), nil
}

// holds reports where the network has other tables than a plan.
func (d *dump) holds(ctx context.Context, p *plan.Plan) (sum, error) {
	have, text, err := d.read(ctx)
	if err == nil {
		err = anyshape.Holds(p, have)
	}
	return text, err
}

// A dumped network is that of a dump during a case: nothing tells when a manager loads other tables, so they are
// read again and again.
type dumped struct {
	*dump
	say  func(string)
	plan *plan.Plan // of the case

	mu   sync.Mutex
	over sum // the tables of the newest plan
}

// lookAgain is the pause between two looks at the tables. They count as changed once two looks have shown the
// same: a manager loads switch after switch.
const lookAgain = time.Second

// Watch implements loop.Network.
func (n *dumped) Watch(ctx context.Context, events chan<- failover.LinkEvent) error {
	var before, told sum
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lookAgain):
		}
		text, err := n.text(ctx)
		if err != nil {
			if ctx.Err() == nil {
				n.say(fmt.Sprintf("%s: %v", n.name, err))
			}
			continue
		}
		now := sha256.Sum256(text)
		n.mu.Lock()
		news := now == before && now != told && now != n.over
		n.mu.Unlock()
		if before = now; news {
			told = now
			select {
			case events <- failover.LinkEvent{Moved: true, Seen: time.Now()}:
			case <-ctx.Done():
			}
		}
	}
}

// Plan implements loop.Planner: the best order over the tables that the network has now.
func (n *dumped) Plan(ctx context.Context, servers *topology.Tree) (loop.Made, error) {
	t, text, err := n.read(ctx)
	if err != nil {
		return loop.Made{}, err
	}
	n.planned(text)
	return again(n.net, n.plan, t, servers)
}

// Install implements loop.Network. It changes nothing, and looks whether the tables are those of the plan.
func (n *dumped) Install(ctx context.Context, p *plan.Plan) (changed int, err error) {
	text, err := n.holds(ctx, p)
	if err == nil {
		n.planned(text)
	}
	return 0, err
}

func (n *dumped) planned(over sum) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.over = over
}

// Aid implements loop.Network: the manager's work, not evbench's.
func (n *dumped) Aid(context.Context, *topology.Tree) (changed int, err error) { return 0, nil }

// Clean implements loop.Network: no route is evbench's.
func (n *dumped) Clean(context.Context, *plan.Plan) (changed int, err error) { return 0, nil }
