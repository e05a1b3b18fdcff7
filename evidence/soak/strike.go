package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"evbench/internal/proc"
	"evbench/internal/programs"
	"evbench/results"
	"evbench/topology"
)

// joinTimeout is how long a controller waits for workers, and workers for it.
const joinTimeout = 10 * time.Second

// kill starts a run with servers as processes, and kills one of its processes.
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
	for g.main.until(time.Now().Add(time.Millisecond)) { // until the process exists
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

// clock lets the scenario run, and kills and stops processes of its servers meanwhile. A server that is away has none.
func (g *stage) clock(ctx context.Context) error {
	var beside sync.WaitGroup
	defer beside.Wait()
	if err := g.beginRun(ctx); err != nil {
		return err
	}
	since, ok := g.main.measures()
	for _, b := range g.s.Blows {
		if !ok || !g.main.until(since.Add(b.At)) {
			break
		}
		for _, p := range marked(g.mark) {
			if !p.isWorker(b.Server) {
				continue
			}
			if g.seen.Hit = true; b.For == 0 {
				syscall.Kill(p.pid, syscall.SIGKILL) // an error means that it has ended
				continue
			}
			beside.Go(func() {
				syscall.Kill(p.pid, syscall.SIGSTOP)
				g.main.until(time.Now().Add(b.For))
				syscall.Kill(p.pid, syscall.SIGCONT)
			})
		}
	}
	return nil
}

// moment waits for the time in the script; false if the program ends before.
func (g *stage) moment(began time.Time) bool {
	since, ok := began, true
	if !g.s.Early {
		since, ok = g.main.measures()
	}
	return ok && g.main.until(since.Add(g.s.At))
}

// beginHosts starts a controller that listens at an address, and its workers on loopback; to
// returns the controller's address for each of them.
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

// control starts workers that reach the controller through proxies, which follow the script.
func (g *stage) control(ctx context.Context) error {
	tree := g.s.Tree()
	ctx, stop := context.WithCancel(ctx)
	var proxies []*proxy
	defer func() {
		stop()
		for _, p := range proxies {
			p.running.Wait()
		}
	}()
	for server := range tree.Servers() {
		delay := time.Duration(0)
		if server < len(g.s.Delays) {
			delay = g.s.Delays[server]
		}
		p, err := listen(ctx, g.path(socketFile), delay, g.s.Loss, g.s.Seed+uint64(server))
		if err != nil {
			return err
		}
		proxies = append(proxies, p)
	}
	if err := g.beginHosts(ctx, "unix:"+socketFile, func(server int) string { return "tcp:" + proxies[server].listener.Addr().String() }); err != nil {
		return err
	}
	if g.s.Kind != Delay && g.moment(time.Now()) {
		g.hit, g.seen.Hit = time.Now(), true
		if g.s.Kind == Stall {
			proxies[g.s.Victim].silence(g.s.Silent)
		} else {
			proxies[g.s.Victim].cut(g.s.Reset)
		}
	}
	// The proxies stay until all have ended: a silent connection is not closed.
	<-g.main.done
	for _, p := range g.all {
		p.until(time.Now().Add(programs.Patience))
	}
	return nil
}

// strangers starts a controller and its workers on loopback, and makes foreign connections to the
// control port.
func (g *stage) strangers(ctx context.Context) error {
	addr, err := freeAddr()
	if err != nil {
		return err
	}
	began := time.Now()
	if err := g.beginHosts(ctx, "tcp:"+addr, func(int) string { return "tcp:" + addr }); err != nil {
		return err
	}
	var taken atomic.Int64
	var waves sync.WaitGroup
	for i, w := range g.s.Waves {
		waves.Go(func() {
			if g.main.until(began.Add(w.At)) {
				taken.Add(int64(g.wave(ctx, addr, w, g.s.Seed+uint64(i))))
			}
		})
	}
	waves.Wait()
	g.seen.Strange = int(taken.Load())
	return nil
}

func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// wave opens connections at once, sends the garbage and stays; it returns how many were accepted.
func (g *stage) wave(ctx context.Context, addr string, w Wave, seed uint64) int {
	garbage := make([]byte, w.Bytes)
	rng := rand.New(rand.NewPCG(seed, 1))
	for i := range garbage {
		garbage[i] = byte(rng.Uint32())
	}
	var all sync.WaitGroup
	var taken atomic.Int64
	for range w.Connections {
		all.Go(func() {
			c, err := g.knock(ctx, addr)
			if err != nil {
				return // no room
			}
			defer c.Close()
			taken.Add(1)
			c.Write(garbage) // an error means that the stranger was dropped
			g.main.until(time.Now().Add(w.For))
		})
	}
	all.Wait()
	return int(taken.Load())
}

// knock connects to the control port, which may not listen yet.
func (g *stage) knock(ctx context.Context, addr string) (net.Conn, error) {
	d := net.Dialer{Timeout: knocking}
	for {
		c, err := d.DialContext(ctx, "tcp", addr)
		if !errors.Is(err, syscall.ECONNREFUSED) || !g.main.until(time.Now().Add(10*time.Millisecond)) {
			return c, err
		}
	}
}

// knocking is how long a stranger waits if the port accepts no more.
const knocking = 5 * time.Second

// strikes takes links of the running lab down and up, like a user at a terminal.
func (g *stage) strikes(ctx context.Context) {
	list := g.s.Strikes()
	if len(list) == 0 {
		return
	}
	since, ok := g.main.measures()
	if !ok {
		return
	}
	doors, err := g.doors(ctx)
	for _, x := range list {
		if err != nil || !g.main.until(since.Add(x.At)) {
			break
		}
		if err = doors[x.Link.Leaf].set(ctx, x.Link.Spine, x.Up); err == nil {
			g.seen.Struck = append(g.seen.Struck, results.LinkEvent{Link: x.Link.String(), Up: x.Up, TSec: time.Since(since).Seconds()})
		}
		if g.s.Kind == Severed {
			g.hit = time.Now()
		}
	}
	if err != nil && g.main.until(time.Now().Add(time.Second)) { // else it has ended meanwhile
		g.seen.Unstruck = err.Error()
	}
}

// A door is the command prefix for nsenter into a network namespace.
type door []string

// maxLinks bounds ip's output about the links of a leaf.
const maxLinks = 1 << 20

func (d door) run(ctx context.Context, command ...string) (string, error) {
	if d == nil {
		return "", fmt.Errorf("no namespace of that leaf")
	}
	args := append(append([]string{}, d...), command...)
	out, err := proc.Call{Limit: programs.Patience, Most: maxLinks}.Answer(ctx, "nsenter", args...)
	if err != nil {
		return "", fmt.Errorf("in %s: %w", strings.Join(args, " "), err)
	}
	return string(out), nil
}

// set takes the link of a leaf to a spine down, or up.
func (d door) set(ctx context.Context, spine int, up bool) error {
	how := "down"
	if up {
		how = "up"
	}
	_, err := d.run(ctx, "ip", "link", "set", Spine(spine), how)
	return err
}

// doors finds the namespaces of the leaves: the program holds all of its lab open.
func (g *stage) doors(ctx context.Context) (map[int]door, error) {
	tree := g.s.Tree()
	doors := map[int]door{}
	for _, p := range marked(g.mark) {
		if len(doors) < tree.Leaves() {
			findDoors(ctx, p.pid, tree, doors)
		}
	}
	if len(doors) < tree.Leaves() {
		return nil, fmt.Errorf("only %d of %d leaves found among the namespaces of the run", len(doors), tree.Leaves())
	}
	return doors, nil
}

// findDoors adds the namespaces held by a process.
func findDoors(ctx context.Context, pid int, tree *topology.Tree, doors map[int]door) {
	dir := fmt.Sprintf("/proc/%d/fd/", pid)
	var user door
	own, _ := os.Readlink("/proc/self/ns/user")
	if its, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/user", pid)); err != nil || its != own {
		user = door{fmt.Sprintf("--user=/proc/%d/ns/user", pid), "--preserve-credentials"}
	}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if to, _ := os.Readlink(dir + e.Name()); !strings.HasPrefix(to, "net:") {
			continue
		}
		d := append(door{"--net=" + dir + e.Name()}, user...)
		text, err := d.run(ctx, "ip", "-o", "link")
		if leaf, ok := LeafOf(tree.Shape, text); err == nil && ok {
			doors[leaf] = d
		}
	}
}
