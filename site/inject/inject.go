// Package inject takes links of a real network down and brings them up again, even after an error,
// a panic, Ctrl-C and SIGKILL.
//
// Pure functions choose the commands for a link. A runner starts them, with a time limit for the
// whole process group. A probe must confirm that the link is down, or up. Before a link is touched,
// a journal on disk records how to bring it up, and Restore does that for a run that could not.
package inject

import (
	"cmp"
	"context"
	"errors"
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

// Options say how links are taken down, brought up and probed. In Down, Up, Probe and Host, {link},
// {leaf} and {spine} stand for names of the topology.
type Options struct {
	Kind string
	// Down, Up and Probe are run by sh -c, or by the shell of Host. Probe exits with 0 if the link
	// is up, 1 if it is down, and otherwise if it cannot tell. Kinds command and ssh.
	Down, Up, Probe string
	// Host is the host on which ssh runs commands. Kinds ssh and ibportstate; optional for the
	// latter.
	Host string
	// Fabric is a file with the text of ibnetdiscover. Kind ibportstate.
	Fabric string
	// program of kind ibportstate. "" means ibportstate.
	program string
	// Lab is the directory of a lab built by lab up. Kind lab.
	Lab string
	// Timeout bounds one command, and then the time until the probe sees its effect. 0 means 10s.
	Timeout time.Duration
	// Journal is the file that lists the links that are down.
	Journal string
	// Tree is the topology, which defines leaf and spine in Fabric.
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

// An Injector takes links down. Its methods may be called concurrently; they wait for each other.
type Injector struct {
	mu      sync.Mutex
	recipe  recipes
	called  func(topology.Link) string
	operate operator
	journal *journal
	down    map[topology.Link]bool // confirmed by the probe
}

// Open locks the journal and touches no link. It refuses a journal that lists links as down, and
// one in use by another run.
func Open(o Options) (*Injector, error) {
	recipe, err := newRecipes(o)
	if err != nil {
		return nil, err
	}
	o.Timeout = cmp.Or(o.Timeout, defaultTimeout)
	h, err := newHeader(o)
	if err != nil {
		return nil, err
	}
	j, err := openJournal(o.Journal, true)
	if err != nil {
		return nil, err
	}
	if len(j.Down) > 0 {
		return nil, errors.Join(leftDown(j), j.close())
	}
	if err := j.begin(h); err != nil {
		return nil, errors.Join(err, j.close())
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

// Down takes links down and returns when the probe has confirmed all. After an error some are down,
// or may be: Up and Close bring them up.
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

// Up brings up links that were taken down, ignoring others, and returns when the probe has
// confirmed all. It tries each, even after an error, until ctx ends.
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
		errs = append(errs, err)
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(errs...)
}

// Pending returns the links that are down, or may be, according to the journal.
func (i *Injector) Pending() []topology.Link {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.journal.links()
}

// Close brings up all links that are down, after any end of the run, and closes the journal. Links
// that do not come up stay in the journal, and the error names them.
func (i *Injector) Close() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	// Not the context of the run, which may have ended: every command has its own time limit.
	err := i.raise(context.Background(), i.journal.links())
	if len(i.journal.Down) > 0 {
		err = fmt.Errorf("%w; STILL DOWN by journal %s: %s; evbench failures restore %s",
			err, i.journal.path, i.journal.names(), i.journal.path)
	}
	return errors.Join(err, i.journal.close())
}
