package ibtest

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"evbench/site/lft"
	"evbench/site/network"
	"evbench/testing/expect"
)

func tree(t *testing.T, lmc int) (*network.Network, []network.Node) {
	t.Helper()
	n := expect.Value(network.PGFT{M: []int{2, 4}, W: []int{1, 2}, P: []int{1, 1}}.Build(lmc))(t)
	return n, []network.Node{n.Switch(4), n.Switch(5)}
}

// reached counts the ordered pairs of hosts that the tables join.
func reached(tb *lft.Tables) int {
	n, count := tb.Net, 0
	for from := range network.Node(n.Hosts()) {
		for to := range network.Node(n.Hosts()) {
			at := n.Leaf(from).Node
			for range n.Switches() {
				if n.IsHost(at) || at == network.NoNode {
					break
				}
				at = n.At(at, int(tb.Port(at, int(n.Info(to).LID)))).Node
			}
			if at == to {
				count++
			}
		}
	}
	return count
}

func TestRoute(t *testing.T) {
	Need(t)
	for _, c := range []struct {
		ask, get string
		lmc      int
	}{{"minhop", "minhop", 0}, {"ftree", "ftree", 0}, {"ftree", "minhop", 1}, {"updn", "updn", 2}} {
		t.Run(c.ask, func(t *testing.T) {
			t.Parallel()
			n, roots := tree(t, c.lmc)
			r := expect.Value(Route(t.Context(), n, c.ask, roots))(t)
			expect.Equal(t, r.Engine, c.get, "%s became", c.ask)
			if got := reached(r.Tables); got != n.Hosts()*n.Hosts() {
				t.Errorf("%d pairs of %d hosts are joined", got, n.Hosts())
			}
		})
	}
}

func TestLive(t *testing.T) {
	Need(t)
	t.Parallel()
	n, roots := tree(t, 0)
	l := expect.Value(Start(t.Context(), n, "minhop", roots))(t)
	defer l.Close()
	end := network.End{Node: n.Switch(0), Port: 3}
	for _, step := range []struct {
		name string
		do   func() error
		uses bool
	}{
		{"at first", func() error { return nil }, true},
		{"unlinked", func() error { return l.Unlink(end) }, false},
		{"swept", l.sweep, false},
		{"linked again", func() error { return l.Relink(end) }, true},
	} {
		expect.Must(t, step.do(), "%s", step.name)
		right := func(tb *lft.Tables) bool { return slices.Contains(tb.Row(0), end.Port) == step.uses }
		tb, err := l.Until(right)
		expect.True(t, err == nil && right(tb) && l.engine == "minhop", "%s: leaf uses port %d: %v, engine %s, %v", step.name, end.Port, !step.uses, l.engine, err)
	}
}

func TestRouting(t *testing.T) {
	Need(t)
	t.Parallel()
	n, roots := tree(t, 0)
	r := expect.Value(Route(t.Context(), n, "ftree", roots, Timed...))(t)
	d, err := r.Routing()
	expect.True(t, err == nil && d > 0 && d <= Limit, "%v, %v", d, err)
}

func TestWhatIsWrongIsSaid(t *testing.T) {
	Need(t)
	t.Parallel()
	n, _ := tree(t, 0)
	r, err := Route(t.Context(), n, "minhop", nil, "--no-such-option")
	expect.True(t, err != nil, "no error, but %+v", r)
}

// routes has TestKilled do nothing but route.
const routes = "EVBENCH_TEST_ROUTES"

// An OpenSM that routes once ends when the program that asked for it is killed.
func TestKilled(t *testing.T) {
	Need(t)
	if os.Getenv(routes) != "" {
		n, roots := tree(t, 0)
		_, err := Route(t.Context(), n, "minhop", roots)
		t.Fatal(err)
	}
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	// It has the pipe open for as long as it runs.
	endless := "#!/bin/sh\nexec >" + pipe + "\necho up\nexec sleep 1000\n"
	expect.Must(t, errors.Join(syscall.Mkfifo(pipe, 0o600), os.WriteFile(filepath.Join(dir, "opensm"), []byte(endless), 0o700)))
	up, err := os.OpenFile(pipe, os.O_RDWR|syscall.O_NONBLOCK, 0) // does not wait for a writer
	expect.Must(t, err)
	end := expect.Value(os.OpenFile(pipe, os.O_RDONLY|syscall.O_NONBLOCK, 0))(t)
	defer end.Close()
	self := exec.Command("/proc/self/exe", "-test.run=^TestKilled$")
	self.Env = append(os.Environ(), routes+"=1", "PATH="+dir+":"+os.Getenv("PATH"), "TMPDIR="+dir)
	expect.Must(t, self.Start())
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_ = self.Wait()
		_ = up.SetReadDeadline(time.Unix(1, 0))
	}()
	_, err = bufio.NewReader(up).ReadString('\n')
	_ = self.Process.Kill()
	<-gone
	expect.Must(t, errors.Join(err, up.Close()))
	if rest, err := io.ReadAll(end); err != nil || len(rest) > 0 { // until nobody has it
		t.Errorf("%q, %v", rest, err)
	}
}
