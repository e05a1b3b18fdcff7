package plan

import (
	"fmt"
	"io"
	"reflect"

	"evbench/routing"
	"evbench/scheduler"
	"evbench/scheduler/judge"
	"evbench/topology"
)

// ReadOwn is Read of a plan that somebody wrote to have it measured: a complete exchange whose messages may
// meet on links, also over the paths that it chooses.
func ReadOwn(r io.Reader, x routing.Engines) (*Plan, error) {
	f, err := judge.Read(r, x.Names()...)
	switch {
	case err != nil:
		return nil, err
	case f.Sized() || f.Tree == nil:
		return nil, ErrOther
	}
	if report := judge.Check(f, judge.Options{AllowContention: true, First: 1}); !report.Valid {
		return nil, notComplete(report.Offences[0].Text)
	}
	return restore(f, x)
}

// on returns the schedule of a plan for a tree of the same servers, which may have other dead links: with its
// paths, if they are asked for and the plan has them.
func (p *Plan) on(t *topology.Tree, paths bool) (*scheduler.Schedule, error) {
	same := reflect.DeepEqual(p.Tree.Options(), t.Options())
	reads, builds := p.Tree.RoleLists()
	if r, b := t.RoleLists(); !same || r != reads || b != builds {
		return nil, fmt.Errorf("the schedule of the file is for %s with %d servers, and the network is %s with %d: both need the same servers with the same roles, spines and cables",
			p.Tree.Notation(), p.Tree.Servers(), t.Notation(), t.Servers())
	}
	return scheduler.FromMessages(p.Schedule.Name, t.Wires, paths && p.Pinned(), p.Schedule.All()), nil
}
