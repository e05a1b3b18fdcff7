package inject

import (
	"context"
	"errors"
	"io/fs"
	"time"
)

// What Restore found of a link.
const (
	broughtUp = "brought up"
	wasUp     = "was up"
	stillDown = "still down"
)

// A Restored link is what Restore did about one.
type Restored struct {
	Pending
	outcome string
	err     error // why it is still down
}

// A Restoration is what Restore did.
type Restoration struct {
	Header Header
	links  []Restored
	// Torn is the unfinished last line of the journal: the machine died while it
	// was written, before the link was touched.
	Torn string
}

// Restore brings up what a journal says is down, and removes the journal when
// all is up. It tells show what it is about to run, and runs nothing if that returns
// false; and each of a link as soon as it is done with it. A journal that does not
// exist has nothing to bring up; one that others than the user or root may have written
// is a *trust.Error.
func Restore(ctx context.Context, path string, show func(Header, []Pending) bool, each func(Restored)) (r Restoration, err error) {
	j, err := openJournal(path, false)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return r, err
	}
	r.Header, r.Torn = j.header, j.torn
	if !show(j.header, j.pending) {
		return r, j.f.Close()
	}
	defer func() { err = closing(err, j) }()
	if err := j.cut(); err != nil {
		return r, err
	}
	for _, l := range j.links() {
		p, _ := j.find(l)
		one, err := restore(ctx, operator{j.header}, p)
		if err == nil && one.outcome != stillDown {
			err = j.up(l, time.Now())
		}
		if err != nil {
			return r, err
		}
		r.links = append(r.links, one)
		each(one)
	}
	return r, nil
}

func restore(ctx context.Context, o operator, p Pending) (Restored, error) {
	a, err := o.probe(ctx, p.Probe)
	if err != nil {
		return Restored{}, err
	}
	if a.state == linkUp {
		return Restored{Pending: p, outcome: wasUp}, nil
	}
	err = o.raise(ctx, p.link, p.Remedy)
	switch {
	case ctx.Err() != nil:
		return Restored{}, context.Cause(ctx)
	case err != nil:
		return Restored{Pending: p, outcome: stillDown, err: err}, nil
	}
	return Restored{Pending: p, outcome: broughtUp}, nil
}
