package main

import (
	"context"
	"fmt"
	"strconv"
	"syscall"
	"time"

	"evbench/internal/proc"
)

// joinTimeout is how long a controller waits for workers, and they for it.
const joinTimeout = 10 * time.Second

// kill starts a run whose servers are processes, and kills one of its processes.
func (g *stage) kill(ctx context.Context) error {
	began := time.Now()
	var err error
	if g.s.Hosts {
		err = g.beginHosts(ctx, "unix:"+socketFile, func(int) string { return "unix:" + socketFile })
	} else {
		err = g.beginRun(ctx)
	}
	if err != nil || !g.moment(began) {
		return err
	}
	if g.s.Kind == KillController {
		return g.strike(g.main.cmd.Process.Pid)
	}
	for g.main.until(time.Now().Add(time.Millisecond)) { // until the process is there
		for _, p := range marked(g.mark) {
			if p.isWorker(g.s.Victim) {
				return g.strike(p.pid)
			}
		}
	}
	return nil
}

func (g *stage) strike(pid int) error {
	g.hit, g.seen.Hit = time.Now(), true
	return syscall.Kill(pid, syscall.SIGKILL)
}

// moment waits for the moment of the script; false if the program ends before.
func (g *stage) moment(began time.Time) bool {
	since, ok := began, true
	if !g.s.Early {
		since, ok = g.main.measures()
	}
	return ok && g.main.until(since.Add(g.s.At))
}

// beginHosts starts a controller that listens at an address, and its workers on loopback; to
// says where each of them reaches the controller.
func (g *stage) beginHosts(ctx context.Context, at string, to func(server int) string) (err error) {
	if err := g.write(tokenFile, fmt.Sprintf("soak-%d\n", g.s.Seed)); err != nil {
		return err
	}
	tree := g.s.Tree()
	g.main, err = g.begin(ctx, "controller", "-v", scenarioFile, "--listen", at, "--token-file", tokenFile,
		"-o", resultsDir, "--join-timeout", joinTimeout.String())
	for rank := 0; err == nil && rank < tree.Servers(); rank++ {
		var p *program
		p, err = g.begin(ctx, "worker", "--controller", to(rank), "--token-file", tokenFile, "--id", strconv.Itoa(tree.Position(rank)),
			"--data", "127.0.0.1:0", "--wait", joinTimeout.String())
		if err == nil {
			g.work = append(g.work, p)
		}
	}
	return err
}

// control starts workers that reach the controller through proxies, which do what the
// script says.
func (g *stage) control(ctx context.Context) error {
	tree := g.s.Tree()
	ctx, stop := context.WithCancel(ctx)
	var proxies []*proxy
	defer func() {
		stop()
		for _, p := range proxies {
			p.wait()
		}
	}()
	for server := range tree.Servers() {
		p, err := listen(ctx, g.path(socketFile), g.delay(server), g.s.Seed+uint64(server))
		if err != nil {
			return err
		}
		proxies = append(proxies, p)
	}
	if err := g.beginHosts(ctx, "unix:"+socketFile, func(server int) string { return "tcp:" + proxies[server].addr() }); err != nil {
		return err
	}
	if g.s.Kind != Delay && g.moment(time.Now()) {
		g.hit, g.seen.Hit = time.Now(), true
		if g.s.Kind == Stall {
			proxies[g.s.Victim].silence()
		} else {
			proxies[g.s.Victim].cut(g.s.Reset)
		}
	}
	// The proxies stay until all have ended: a connection that is silent is not closed.
	<-g.main.done
	for _, p := range g.all {
		p.until(time.Now().Add(proc.Patience))
	}
	return nil
}

func (g *stage) delay(server int) time.Duration {
	if server < len(g.s.Delays) {
		return g.s.Delays[server]
	}
	return 0
}
