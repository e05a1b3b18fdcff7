// Package inject takes links of a real network down and brings them up again, also after an error,
// a panic, Ctrl-C and SIGKILL.
//
// What to run for a link is decided by pure functions; a runner starts it, with a time limit for the
// whole process group. A probe must say that the link is down, or up. Before a link is touched a
// journal on disk says how it is brought up again, and Restore does that for a run that could not.
package inject

import (
	"context"
	"fmt"
	"sync"
	"time"

	"evbench/topology"
)

// Kinds of injection.
const (
	kindCommand     = "command"
	kindSSH         = "ssh"
	kindIBPortState = "ibportstate"
	kindLab         = "lab"
)

// Options say how links are taken down, brought up and looked at. In Down, Up,
// Probe and Host, {link}, {leaf} and {spine} stand for names of the topology.
type Options struct {
	Kind string
	// Down, Up and Probe are run by sh -c, or by the shell of Host. Probe ends
	// with 0 when the link is up, 1 when it is down, and with anything else when
	// it cannot say. Kinds command and ssh.
	Down, Up, Probe string
	// Host is where commands are run by ssh. Kinds ssh and ibportstate, which may
	// do without.
	Host string
	// Fabric is a file with the text of ibnetdiscover. Kind ibportstate.
	Fabric string
	// program of kind ibportstate. "" means ibportstate.
	program string
	// Lab is the directory of a lab that lab up has built. Kind lab.
	Lab string
	// Timeout is how long one command may take, and then how long the probe may
	// take to see what it did. 0 means 10s.
	Timeout time.Duration
	// Journal is the file that says what is down.
	Journal string
	// Tree is the topology, which says what leaf and spine are in Fabric.
	Tree *topology.Tree
}

const defaultTimeout = 10 * time.Second

type linkState int

// The states.
const (
	linkUnknown linkState = iota
	linkUp
	linkDown
)

func (s linkState) String() string { return [...]string{"unknown", "up", "down"}[s] }

// An Injector takes links down. Its methods may be called at the same time; they
// wait for each other.
type Injector struct {
	mu      sync.Mutex
	recipe  recipes
	called  func(topology.Link) string
	operate operator
	journal *journal
	down    map[topology.Link]bool // the probe has confirmed it
}

// Open locks the journal and touches no link. It refuses a journal in which
// links are down still, and one that another run uses.
func Open(o Options) (*Injector, error) {
	recipe, err := newRecipes(o)
	if err != nil {
		return nil, err
	}
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	h, err := newHeader(o)
	if err != nil {
		return nil, err
	}
	j, err := openJournal(o.Journal, true)
	if err != nil {
		return nil, err
	}
	if len(j.Down) > 0 {
		return nil, closing(leftDown(j), j)
	}
	if err := j.begin(h); err != nil {
		return nil, closing(err, j)
	}
	i := &Injector{recipe: recipe, called: topology.Link.String, operate: operator{h}, journal: j, down: map[topology.Link]bool{}}
	if o.Tree != nil {
		i.called = o.Tree.LinkName
	}
	return i, nil
}

// Check probes links and returns an error unless all are up.
func (i *Injector) Check(ctx context.Context, links []topology.Link) error {
	for _, l := range links {
		if err := i.check(ctx, l); err != nil {
			return err
		}
	}
	return nil
}

func (i *Injector) check(ctx context.Context, l topology.Link) error {
	r, err := i.recipe(l)
	if err != nil {
		return err
	}
	a, err := i.operate.probe(ctx, r.Probe)
	switch {
	case err != nil:
		return err
	case a.state == linkDown:
		return &linkError{Link: i.called(l), Reason: alreadyDown}
	case a.state == linkUnknown:
		return &linkError{Link: i.called(l), Reason: unclear, Doing: "look", Said: a.said}
	}
	return nil
}

// Down takes links down and returns when the probe has confirmed all. After an
// error some are down, or may be: Up and Close bring them up.
func (i *Injector) Down(ctx context.Context, links []topology.Link) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, l := range links {
		if i.down[l] {
			continue
		}
		if err := i.take(ctx, l); err != nil {
			return err
		}
	}
	return nil
}

func (i *Injector) take(ctx context.Context, l topology.Link) error {
	r, err := i.recipe(l)
	if err != nil {
		return err
	}
	if i.journal.index(l) < 0 {
		if err := i.check(ctx, l); err != nil {
			return err
		}
		p := Pending{Link: linkName{l}, Since: time.Now().UTC(), Remedy: r.Remedy}
		if name := i.called(l); name != l.String() {
			p.Name = name
		}
		if err := i.journal.down(p); err != nil {
			return err
		}
	}
	if err := i.operate.lower(ctx, i.called(l), r); err != nil {
		return err
	}
	i.down[l] = true
	return nil
}

// Up brings links up that were taken down, others it passes over, and returns
// when the probe has confirmed all. It tries each, also after an error,
// until ctx ends.
func (i *Injector) Up(ctx context.Context, links []topology.Link) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.raise(ctx, links)
}

func (i *Injector) raise(ctx context.Context, links []topology.Link) error {
	var errs []error
	for _, l := range links {
		at := i.journal.index(l)
		if at < 0 {
			continue
		}
		delete(i.down, l)
		err := i.operate.raise(ctx, i.called(l), i.journal.Down[at].Remedy)
		if err == nil {
			err = i.journal.up(l)
		}
		if err != nil {
			errs = append(errs, err)
		}
		if ctx.Err() != nil {
			break
		}
	}
	return joined(errs)
}

// Pending returns the links that are down, or may be, by the journal.
func (i *Injector) Pending() []topology.Link {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.journal.links()
}

// Close brings up what is down, however the run ended, and gives the journal up.
// What does not come up stays in the journal, and the error says so.
func (i *Injector) Close() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	// Not the context of the run, which may have ended: every command has its
	// own time limit.
	err := i.raise(context.Background(), i.journal.links())
	if len(i.journal.Down) > 0 {
		err = fmt.Errorf("%w; STILL DOWN by journal %s: %s; evbench failures restore %s",
			err, i.journal.path, i.journal.names(), i.journal.path)
	}
	return closing(err, i.journal)
}
