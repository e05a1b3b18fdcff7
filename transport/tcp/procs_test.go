package tcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"evbench/barrier"
	"evbench/testing/expect"
	"evbench/transport"
)

// rankEnv makes the test binary one rank, in a process of its own as on a
// cluster: there a thread sleeps with its processor in hand.
const rankEnv = "EVBENCH_TCP_RANK"

func TestMain(m *testing.M) {
	if text := os.Getenv(rankEnv); text != "" {
		if err := beRank(text); err != nil {
			fmt.Fprintln(os.Stderr, "rank:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

type job struct {
	Rank, N, Size, Rounds int
	IO, Work              string
	Drop                  bool
}

// beRank says where it listens, is told where all do, works, says how long that took, and ends when it is told.
func beRank(text string) (err error) {
	var j job
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		return err
	}
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	l, err := Listen(Options{Addr: "127.0.0.1:0", Token: "t"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	var addrs []string
	if err := errors.Join(out.Encode(l.Addr()), in.Decode(&addrs)); err != nil {
		return err
	}
	g := Group{ID: 1, Rank: j.Rank, IO: j.IO}
	for r, a := range addrs {
		g.Peers = append(g.Peers, Peer{[]string{a}})
		if r != j.Rank {
			g.Need, g.Partners = append(g.Need, Path{r, transport.Single}), append(g.Partners, r)
		}
	}
	ctx := context.Background()
	e, err := l.Connect(ctx, g)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	took, err := j.work(ctx, e, in, out)
	if err != nil {
		return err
	}
	if err := out.Encode(took); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, os.Stdin) // nobody closes before all are through
	return err
}

func (j *job) work(ctx context.Context, e *Endpoint, in *json.Decoder, out *json.Encoder) (time.Duration, error) {
	gate, err := barrier.New(barrier.Tournament, j.Rank, j.N)
	if err != nil {
		return 0, err
	}
	if j.Work == "collect" && j.Rank == 0 {
		return 0, collect(ctx, e, out)
	}
	if j.Work == "collect" {
		return 0, reply(ctx, e, in)
	}
	ops := j.ops(e)
	done := make([]transport.Op, len(ops))
	var began time.Time
	for i := range j.Rounds + 3 { // three to warm up
		if i == 3 {
			if err := gate.Wait(ctx, e); err != nil {
				return 0, err
			}
			began = time.Now()
		}
		if err := postAndPoll(ctx, e, ops, done); err != nil {
			return 0, err
		}
	}
	return time.Since(began), nil
}

// ops are an exchange of everybody with everybody.
func (j *job) ops(e *Endpoint) []transport.Op {
	var ops []transport.Op
	for _, k := range []transport.Kind{transport.Recv, transport.Send} {
		for d := 1; d < j.N; d++ {
			o := op(k, (j.Rank+d)%j.N, transport.Single, "")
			if k == transport.Recv && j.Drop {
				o.Drop = j.Size
			} else {
				o.Body = e.Alloc(j.Size)
				clear(o.Body)
			}
			ops = append(ops, o)
		}
	}
	return ops
}

func postAndPoll(ctx context.Context, e *Endpoint, ops, done []transport.Op) error {
	if err := e.Post(ops); err != nil {
		return err
	}
	for n := 0; n < len(ops); {
		k, err := e.Poll(ctx, done)
		if err != nil {
			return err
		}
		n += k
	}
	return nil
}

// waits is how often the thread of collect sleeps, half of them in a barrier.
const waits = 20

// collect waits for the other rank while it collects garbage, for which the runtime stops all threads. Only then
// is the other told to answer: a thread that sleeps through that would do so for ever.
func collect(ctx context.Context, e *Endpoint, out *json.Encoder) error {
	for i := range waits {
		said := make(chan error)
		go func() {
			for range 5 {
				runtime.GC()
			}
			said <- out.Encode(i)
		}()
		if err := errors.Join(meet(ctx, e, i), <-said); err != nil {
			return err
		}
	}
	return nil
}

// reply is what the other rank does.
func reply(ctx context.Context, e *Endpoint, in *json.Decoder) error {
	for i := range waits {
		var k int
		if err := in.Decode(&k); err != nil {
			return err
		}
		if err := meet(ctx, e, i); err != nil {
			return err
		}
	}
	return nil
}

// meet has rank 0 wait for rank 1: in a barrier, or for a message.
func meet(ctx context.Context, e *Endpoint, i int) error {
	kind := map[int]transport.Kind{0: transport.Recv, 1: transport.Send}[e.Rank()]
	ops := []transport.Op{op(kind, 1-e.Rank(), transport.Single, "hello")}
	switch {
	case i%2 == 0:
		return postAndPoll(ctx, e, ops, make([]transport.Op, 1))
	case e.Rank() == 0:
		return e.Await(ctx, 1, uint64(i))
	}
	return e.Signal(ctx, 0, uint64(i))
}

type rank struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	to  *json.Encoder
	out *json.Decoder
}

// start starts all ranks of a job and tells them where the others listen.
func start(t testing.TB, j job) []rank {
	t.Helper()
	var ranks []rank
	var addrs []string
	for r := range j.N {
		j.Rank = r
		text := expect.Value(json.Marshal(j))(t)
		c := exec.CommandContext(t.Context(), os.Args[0])
		c.Env, c.Stderr = append(os.Environ(), rankEnv+"="+string(text)), os.Stderr
		in := expect.Value(c.StdinPipe())(t)
		out := expect.Value(c.StdoutPipe())(t)
		expect.Must(t, c.Start())
		ranks = append(ranks, rank{c, in, json.NewEncoder(in), json.NewDecoder(out)})
		t.Cleanup(func() { _ = in.Close(); _ = c.Wait() })
	}
	for _, r := range ranks {
		var a string
		expect.Must(t, r.out.Decode(&a))
		addrs = append(addrs, a)
	}
	for _, r := range ranks {
		expect.Must(t, r.to.Encode(addrs))
	}
	return ranks
}

// end returns how long the slowest rank took. Nobody leaves before all are through.
func end(t testing.TB, ranks []rank) (slowest time.Duration) {
	t.Helper()
	for i, r := range ranks {
		var took time.Duration
		expect.Must(t, r.out.Decode(&took), "rank %d", i)
		slowest = max(slowest, took)
	}
	for i, r := range ranks {
		_ = r.in.Close()
		expect.OK(t, r.cmd.Wait(), "rank %d", i)
	}
	return slowest
}

// A thread that sleeps with its processor in hand keeps the runtime from nothing.
func TestSleepLetsTheRuntimeWork(t *testing.T) {
	ranks := start(t, job{N: 2, Work: "collect"})
	for range waits {
		var i int
		expect.Must(t, errors.Join(ranks[0].out.Decode(&i), ranks[1].to.Encode(i)))
	}
	end(t, ranks)
}

func TestProcessesExchange(t *testing.T) {
	for _, io := range []string{Copy, Sendfile} {
		for _, drop := range []bool{false, true} {
			end(t, start(t, job{N: 3, Size: 300_000, Rounds: 20, IO: io, Drop: drop}))
		}
	}
}
