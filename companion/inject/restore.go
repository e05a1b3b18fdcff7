package inject

import (
	"context"
	"errors"
	"io/fs"
	"time"
)

// What Restore found of a link.
const (
	BroughtUp = "brought up"
	WasUp     = "was up"
	StillDown = "still down"
)

// A Restored link is what Restore did about one.
type Restored struct {
	Pending
	Outcome string
	Err     error // why it is still down
}

// A Restoration is what Restore did.
type Restoration struct {
	Header Header
	Links  []Restored
	// Torn is the unfinished last line of the journal: the machine died while it
	// was written, before the link was touched.
	Torn string
}

// Restore brings up what a journal says is down, and removes the journal when
// all is up. It tells each of a link as soon as it is done with it. A journal
// that does not exist has nothing to bring up.
func Restore(ctx context.Context, path string, each func(Restored)) (r Restoration, err error) {
	j, err := openJournal(path, false)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return r, err
	}
	defer func() { err = closing(err, j) }()
	r.Header, r.Torn = j.header, j.torn
	if err := j.cut(); err != nil {
		return r, err
	}
	for _, l := range j.links() {
		p, _ := j.find(l)
		one, err := restore(ctx, operator{j.header}, p)
		if err == nil && one.Outcome != StillDown {
			err = j.up(l, time.Now())
		}
		if err != nil {
			return r, err
		}
		r.Links = append(r.Links, one)
		each(one)
	}
	return r, nil
}

// restore brings one link up. It returns an error only when ctx has ended.
func restore(ctx context.Context, o operator, p Pending) (Restored, error) {
	a, err := o.probe(ctx, p.Probe)
	if err != nil {
		return Restored{}, err
	}
	if a.state == Up {
		return Restored{Pending: p, Outcome: WasUp}, nil
	}
	err = o.raise(ctx, p.Link, p.Remedy)
	switch {
	case ctx.Err() != nil:
		return Restored{}, context.Cause(ctx)
	case err != nil:
		return Restored{Pending: p, Outcome: StillDown, Err: err}, nil
	}
	return Restored{Pending: p, Outcome: BroughtUp}, nil
}
