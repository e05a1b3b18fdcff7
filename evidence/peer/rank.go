package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"evbench/barrier"
	"evbench/internal/lists"
	"evbench/internal/programs"
	"evbench/site/mpi"
	"evbench/transport"
	"evbench/transport/tcp"
)

// rankCommand makes this program one rank of our side.
const rankCommand = "rank"

// An order is a rank's instructions on its command line.
type order struct {
	Net  string `json:"net"`
	Rank int    `json:"rank"` // TCP only: MPI knows
	Own  bool   `json:"own"`  // TCP only: each rank has a processor of its own
	Work Work   `json:"work"` // in mode barriers: Exchanges and Warmup count barriers
}

// A report is the output of a rank at its end, on one line.
type report struct {
	Seconds float64         `json:"seconds"`
	Exits   []time.Duration `json:"exits,omitempty"` // of barriers, on the clock of the machine
}

type place struct {
	ep   transport.Endpoint
	n    int
	gate Gate
}

func beRank(ctx context.Context, text string, stdin io.Reader, stdout io.Writer) error {
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return fmt.Errorf("order: %w", err)
	}
	if o.Net != netTCP {
		return mpiRank(ctx, o, stdout)
	}
	return tcpRank(ctx, o, json.NewDecoder(stdin), stdout)
}

// tcpRank talks with the program that started it: it gets the secret of the run, reports its
// listening address, and gets all addresses.
func tcpRank(ctx context.Context, o order, in *json.Decoder, stdout io.Writer) (err error) {
	var token string
	if err := in.Decode(&token); err != nil {
		return fmt.Errorf("token: %w", err)
	}
	l, err := tcp.Listen(tcp.Options{Addr: "127.0.0.1:0", Token: token})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	out := json.NewEncoder(stdout)
	if err := out.Encode(l.Addr()); err != nil {
		return err
	}
	var addrs []string
	if err := in.Decode(&addrs); err != nil {
		return fmt.Errorf("addresses: %w", err)
	}
	// If a rank fails while others connect, they report only a broken connection.
	if o.Work.Mode != barriers {
		if err := o.Work.validate(len(addrs)); err != nil {
			return err
		}
	}
	p, err := connect(ctx, l, o, addrs)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.ep.Close()) }()
	r, err := p.do(ctx, o.Work)
	if err != nil {
		return err
	}
	if err := p.gate(ctx); err != nil { // no rank closes before all are done
		return err
	}
	return out.Encode(r)
}

func connect(ctx context.Context, l *tcp.Listener, o order, addrs []string) (*place, error) {
	form := barrier.FormOf(barrier.Tournament, o.Own)
	partners, err := barrier.Partners(form, o.Rank, len(addrs))
	if err != nil {
		return nil, err
	}
	g := tcp.Group{ID: 1, Rank: o.Rank, Partners: partners, Async: o.Work.Mode == Unsync, Message: o.Work.Size}
	if !o.Work.Shared && !o.Work.Drop {
		g.IO = tcp.Copy
	}
	for r, a := range addrs {
		g.Peers = append(g.Peers, tcp.Peer{Addrs: []string{a}})
		if r != o.Rank && o.Work.Mode != barriers {
			g.Need = append(g.Need, tcp.Path{Peer: r, Spine: transport.Single})
		}
	}
	ep, err := l.Connect(ctx, g)
	if err != nil {
		return nil, err
	}
	b, err := barrier.New(form, o.Rank, len(addrs))
	if err != nil {
		return nil, errors.Join(err, ep.Close())
	}
	return &place{ep, len(addrs), func(ctx context.Context) error { return b.Wait(ctx, ep) }}, nil
}

// mpiRank is a rank started by mpirun. An error ends all ranks.
func mpiRank(ctx context.Context, o order, stdout io.Writer) error {
	w, err := mpi.Start(0)
	if err != nil {
		return err
	}
	ranks := lists.Range[int](w.Size())
	ep, err := w.Open(ctx, mpi.Group{ID: 1, Rank: w.Rank(), Ranks: ranks})
	if err != nil {
		return errors.Join(err, w.Close())
	}
	p := place{ep, w.Size(), ep.Barrier}
	r, err := p.do(ctx, o.Work)
	if err == nil {
		err = json.NewEncoder(stdout).Encode(r)
	}
	if err == nil {
		err = p.gate(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "peer rank:", err)
		w.Abort(programs.ExitFailed) // Close would wait for the others, which may wait for this rank
	}
	return errors.Join(ep.Close(), w.Close())
}

func (p *place) do(ctx context.Context, w Work) (report, error) {
	if w.Mode == barriers {
		exits, err := Barriers(ctx, p.gate, w.Exchanges, w.Warmup, machineClock())
		if err != nil {
			return report{}, err
		}
		return report{Seconds: (exits[len(exits)-1] - exits[0]).Seconds(), Exits: exits}, nil
	}
	took, err := Run(ctx, p.ep, p.n, p.gate, w)
	return report{Seconds: took.Seconds()}, err
}

// machineClock returns a clock shared by all processes of this machine. It is as cheap as package
// time's clock, which counts on the same one from the start of the process.
func machineClock() func() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic("no monotonic clock: " + err.Error()) // every Linux has one
	}
	base := time.Now()
	offset := time.Duration(t.Nano())
	return func() time.Duration { return offset + time.Since(base) }
}
