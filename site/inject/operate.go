package inject

import (
	"context"
	"errors"
	"time"

	"evbench/internal/proc"
)

const (
	// pollEvery is the pause between two probes.
	pollEvery = 100 * time.Millisecond
	// againEvery is the pause before a retry of a command to bring a link up.
	againEvery = 500 * time.Millisecond
)

type operator struct{ Header }

// lower takes a link down. The answer of a disabled port may have to pass through that very port:
// if ibportstate fails, the probe decides.
func (o operator) lower(ctx context.Context, link string, r recipe) error {
	err := o.command(ctx, link, "down", r.down)
	e, ok := errors.AsType[*linkError](err)
	lost := ok && e.Reason == failed && o.Kind == kindIBPortState
	if err != nil && !lost {
		return err
	}
	seen := o.await(ctx, link, "down", linkDown, r.Probe)
	if seen != nil && lost {
		return err
	}
	return seen
}

// raise brings a link up. A command may fail because the link is up already, which the probe then
// shows, or because the network has not found its way around the link yet. So it is retried as long
// as there is time.
func (o operator) raise(ctx context.Context, link string, r Remedy) error {
	giveUp := time.Now().Add(o.Timeout)
	for {
		err := o.command(ctx, link, "up", r.Up)
		if err == nil {
			return o.await(ctx, link, "up", linkUp, r.Probe)
		}
		a, probeErr := o.probe(ctx, r.Probe)
		switch {
		case probeErr != nil:
			return probeErr
		case a.state == linkUp:
			return nil
		case !time.Now().Add(againEvery).Before(giveUp):
			return err
		}
		if !proc.Pause(ctx, againEvery) {
			return context.Cause(ctx)
		}
	}
}

func (o operator) command(ctx context.Context, link string, doing string, p Program) error {
	limited, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	// A down that outlives this process would undo a restore. An up should end.
	e := start(limited, o.Dir, p, doing == "down")
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case limited.Err() != nil:
		return &linkError{Link: link, Reason: hung, Doing: doing, After: o.Timeout, Said: e.said}
	case e.code != 0:
		return &linkError{Link: link, Reason: failed, Doing: doing, Exit: e.code, Said: e.said}
	}
	return nil
}

// await probes until the link is in the wanted state, or time is up.
func (o operator) await(ctx context.Context, link string, doing string, want linkState, probe []Program) error {
	limited, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	var last answer
	for {
		a, err := o.probe(limited, probe)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err == nil && a.state == want:
			return nil
		case err == nil || last.said == "" && last.state == linkUnknown:
			last = a // an interrupted one tells nothing new
		}
		if !proc.Pause(limited, pollEvery) {
			break
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	e := &linkError{Link: link, Reason: lied, Doing: doing, After: o.Timeout}
	if last.state == linkUnknown {
		e.Reason, e.Said = unclear, last.said
	}
	return e
}

type answer struct {
	state linkState
	said  string
}

// probe tries one probe after the other until one can tell. It returns an error only if ctx has
// ended, and then ignores any answer.
func (o operator) probe(ctx context.Context, probe []Program) (answer, error) {
	limited, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	var a answer
	for _, p := range probe {
		e := start(limited, o.Dir, p, true)
		if err := ctx.Err(); err != nil {
			return answer{said: "it did not end"}, context.Cause(ctx)
		}
		if limited.Err() != nil {
			return answer{said: "it did not end within " + o.Timeout.String()}, nil
		}
		if a.state = verdict(o.Kind, e.code, e.out); a.state != linkUnknown {
			return a, nil
		}
		a.said = exitText(e.code) + after(e.said)
	}
	return a, nil
}
