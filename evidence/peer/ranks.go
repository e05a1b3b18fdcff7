package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"evbench/internal/lists"
	"evbench/results"
	"evbench/site/mpi"
)

func workOf(r row, s side, amount int) Work {
	w := Work{
		Mode: s.mode, Size: r.Size, Exchanges: amount, Warmup: warmup, Batch: max(s.batch, 1), Drop: s.drop, Shared: s.shared,
	}
	w.Warmup = (w.Warmup + w.Batch - 1) / w.Batch * w.Batch
	return w
}

// judge makes one reading of the ranks' reports: the slowest counts.
func judge(r row, s side, amount int, reports []report) (reading, error) {
	if len(reports) != r.Ranks {
		return reading{}, fmt.Errorf("%d of %d ranks reported", len(reports), r.Ranks)
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

// barrierTimes returns, in µs, how long each barrier took: from the last exit of the one before to
// its own last exit. A single rank's time is wrong while that rank is not running.
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
	took := lists.Tabulate(exits-1, func(i int) float64 { return float64(last[i+1]-last[i]) / 1e3 })
	return took, nil
}

type child struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	to  *json.Encoder
	out *json.Decoder
}

func (t *tools) runTCP(ctx context.Context, n int, bound bool, w Work) ([]report, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var children []*child
	var err error
	for r := 0; r < n && err == nil; r++ {
		var c *child
		if c, err = t.begin(ctx, order{Net: netTCP, Rank: r, Own: bound, Work: w}); err == nil {
			children = append(children, c)
		}
	}
	reports := make([]report, n)
	if err == nil {
		err = talk(children, reports, stop)
	} else {
		stop()
	}
	for r, c := range children {
		_ = c.in.Close() // it may have exited
		// The reports of the others say more than that they were stopped.
		if e := told(c.cmd, c.cmd.Wait()); e != nil && !errors.Is(e, context.Canceled) {
			err = errors.Join(err, fmt.Errorf("rank %d: %w", r, e))
		}
	}
	return reports, errors.Join(ctx.Err(), err)
}

// talk tells all ranks the secret of the run and the addresses of the others, and takes their
// reports. The first failure stops all. A rank that dies closes its pipes, so no wait is in vain.
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
	program := []string{t.self, rankCommand, string(text)}
	if o.Own {
		program = t.on(strconv.Itoa(o.Rank), program)
	}
	cmd := t.command(ctx, program[0], program[1:]...)
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

// layer returns the layer below MPI that carries a network, or that has its name.
func layer(net string) mpi.Layer {
	switch net {
	case netTCP:
		return mpi.TCP
	case netShared:
		return mpi.SharedMemory
	}
	all := mpi.Layers()
	return all[slices.IndexFunc(all, func(l mpi.Layer) bool { return l.Name == net })]
}

// launch starts n ranks over a network or layer. Bound ranks have a processor each: there Open MPI's
// do not yield it while they wait, as its launcher has them do where it is told that ranks may
// outnumber processors.
func (t *tools) launch(ctx context.Context, n int, net string, bound bool, program ...string) *exec.Cmd {
	env := append(os.Environ(), layer(net).Env...)
	if bound {
		program = t.on(byLauncher, program)
		env = append(env, "OMPI_MCA_mpi_yield_when_idle=0")
	}
	args := mpi.Local(n, program...)
	cmd := t.command(ctx, args[0], args[1:]...)
	cmd.Env = env
	return cmd
}

// runC runs the C program. check has it look at every byte.
func (t *tools) runC(ctx context.Context, r row, s side, amount int, check bool) (reading, error) {
	batch := max(s.batch, 1)
	before := (warmup + batch - 1) / batch * batch
	said, err := t.output(t.launch(ctx, r.Ranks, s.net, r.bound(), t.alltoall, s.mode,
		strconv.Itoa(r.Size), strconv.Itoa(amount), strconv.Itoa(before), strconv.Itoa(batch), map[bool]string{false: "0", true: "1"}[check]))
	if err != nil {
		return reading{}, err
	}
	return readC(said, r, s, amount)
}

func readC(said string, r row, s side, amount int) (got reading, err error) {
	if s.mode == barriers {
		_, err = fmt.Sscanf(said, fmt.Sprintf("mode=barrier n=%d rounds=%d seconds=%%g median_us=%%g", r.Ranks, amount), &got.seconds, &got.value)
	} else {
		_, err = fmt.Sscanf(said, fmt.Sprintf("mode=%s n=%d size=%d rounds=%d seconds=%%g", s.mode, r.Ranks, r.Size, amount), &got.seconds)
		got.value = rate(r, amount, got.seconds)
	}
	if err == nil && got.seconds <= 0 {
		err = errors.New("no time has passed")
	}
	if err != nil {
		return reading{}, fmt.Errorf("the C program printed %q: %w", strings.TrimSpace(said), err)
	}
	return got, nil
}

func (t *tools) runMPI(ctx context.Context, n int, net string, bound bool, w Work) ([]report, error) {
	text, err := json.Marshal(order{Net: net, Work: w})
	if err != nil {
		return nil, err
	}
	said, err := t.output(t.launch(ctx, n, net, bound, t.self, rankCommand, string(text)))
	if err != nil {
		return nil, err
	}
	var reports []report
	for d := json.NewDecoder(strings.NewReader(said)); ; {
		var p report
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return reports, nil
		} else if err != nil {
			return nil, fmt.Errorf("the ranks printed %q: %w", said, err)
		}
		reports = append(reports, p)
	}
}

// scenarioText is full event building: n servers, each a process of this machine, over loopback.
func scenarioText(r row, s side, milliseconds int) string {
	mode := map[string]string{Unsync: "unsynchronised", Phases: "synchronised"}[s.mode]
	check := map[bool]string{false: "header", true: "payload"}[s.payload]
	return fmt.Sprintf(`topology: FT(2;1,%[1]d)
fabric: {kind: hosts, workers: processes}
event: {fragment: %[2]dB}
duration: %[3]dms
interval: %[3]dms
warmup: %[4]d
control: off
deliver: buffer
check: %[5]s
cases:
  - {name: whole, mode: %[6]s}
`, r.Ranks, r.Size, milliseconds, warmup, check, mode)
}

func (t *tools) runWhole(ctx context.Context, r row, s side, milliseconds int) (out reading, err error) {
	dir, err := os.MkdirTemp(t.dir, "whole-")
	if err != nil {
		return reading{}, err
	}
	file := filepath.Join(dir, "whole.yaml")
	if err := os.WriteFile(file, []byte(scenarioText(r, s, milliseconds)), 0o600); err != nil {
		return reading{}, err
	}
	said, err := t.output(t.command(ctx, t.evbench, "run", "--quiet", "--json", "-o", filepath.Join(dir, "out"), file))
	if err != nil {
		return reading{}, fmt.Errorf("%w: %s", err, said) // an invalid case: its summary has the reasons
	}
	if err := os.RemoveAll(dir); err != nil {
		return reading{}, err
	}
	return readSummary(said, r)
}

func readSummary(said string, r row) (reading, error) {
	var sum results.Summary
	if err := json.Unmarshal([]byte(said), &sum); err != nil {
		return reading{}, fmt.Errorf("evbench printed %q: %w", said, err)
	}
	if len(sum.Cases) != 1 || !sum.Complete {
		return reading{}, fmt.Errorf("evbench measured %d cases, want one whole one", len(sum.Cases))
	}
	c := sum.Cases[0]
	if !c.Valid || c.EventsLost > 0 || c.MeasuredSec <= 0 {
		return reading{}, fmt.Errorf("evbench's case is not valid: %s", strings.Join(c.Reasons, "; "))
	}
	return reading{c.MeasuredSec, rate(r, int(c.Exchanges), c.MeasuredSec)}, nil
}
