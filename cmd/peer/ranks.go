package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"

	"golang.org/x/sync/errgroup"

	"evbench/results"
)

func workOf(r row, s side, amount int) Work {
	w := Work{
		Mode: s.mode, Size: r.size, Exchanges: amount, Warmup: warmup, Batch: max(s.batch, 1), Drop: s.drop, Shared: s.shared,
	}
	w.Warmup = (w.Warmup + w.Batch - 1) / w.Batch * w.Batch
	return w
}

// judge makes one reading of what the ranks report: the slowest counts.
func judge(r row, s side, amount int, reports []report) (reading, error) {
	if len(reports) != r.n {
		return reading{}, fmt.Errorf("%d of %d ranks reported", len(reports), r.n)
	}
	out := reading{}
	for _, p := range reports {
		out.seconds = max(out.seconds, p.Seconds)
	}
	if s.mode != barriers {
		out.value = rate(r, amount, out.seconds)
		return out, nil
	}
	took, err := barrierTimes(reports)
	if err != nil {
		return reading{}, err
	}
	out.value = results.NewStat(took).Median
	return out, nil
}

// barrierTimes returns, in µs, how long each barrier took: from the last exit of
// the one before to its own last exit. The clock of a single rank lies when that
// rank is not running.
func barrierTimes(reports []report) ([]float64, error) {
	exits := len(reports[0].Exits)
	last := make([]time.Duration, exits)
	for _, p := range reports {
		if len(p.Exits) != exits || exits < 2 {
			return nil, fmt.Errorf("ranks report %d and %d exits", exits, len(p.Exits))
		}
		for i, e := range p.Exits {
			last[i] = max(last[i], e)
		}
	}
	took := make([]float64, exits-1)
	for i := range took {
		took[i] = float64(last[i+1]-last[i]) / 1e3
	}
	return took, nil
}

// A child is a rank that this program has started, and the pipes to it.
type child struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	to  *json.Encoder
	out *json.Decoder
}

// runTCP runs n ranks as processes of this machine over loopback.
func (t *tools) runTCP(ctx context.Context, n int, w Work) ([]report, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var children []*child
	var err error
	for r := range n {
		var c *child
		if c, err = t.begin(ctx, order{Net: netTCP, Rank: r, Work: w}); err != nil {
			stop()
			break
		}
		children = append(children, c)
	}
	reports := make([]report, n)
	if err == nil {
		err = talk(children, reports, stop)
	}
	for r, c := range children {
		_ = c.in.Close() // it may have gone
		// What the others have to say tells more than that they were stopped.
		if e := told(c.cmd, c.cmd.Wait()); e != nil && !errors.Is(e, context.Canceled) {
			err = errors.Join(err, fmt.Errorf("rank %d: %w", r, e))
		}
	}
	return reports, errors.Join(ctx.Err(), err)
}

// talk tells all ranks the secret of the run and where the others listen, and
// takes their reports. The first that fails stops all; a rank that dies closes
// its pipes, so none is waited for in vain.
func talk(children []*child, reports []report, stop func()) error {
	addrs := make([]string, len(children))
	token := rand.Text()
	each := func(step func(r int, c *child) error) error {
		var g errgroup.Group
		for r, c := range children {
			g.Go(func() error {
				err := step(r, c)
				if err != nil {
					stop()
				}
				return err
			})
		}
		return g.Wait()
	}
	err := each(func(r int, c *child) error { return errors.Join(c.to.Encode(token), c.out.Decode(&addrs[r])) })
	if err != nil {
		return err
	}
	return each(func(r int, c *child) error { return errors.Join(c.to.Encode(addrs), c.out.Decode(&reports[r])) })
}

func (t *tools) begin(ctx context.Context, o order) (*child, error) {
	text, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	cmd := t.command(ctx, t.self, rankCommand, string(text))
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &child{cmd, in, json.NewEncoder(in), json.NewDecoder(out)}, cmd.Start()
}
