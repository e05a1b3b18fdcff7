package linux

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"evbench/companion"
	"evbench/fabric/lab"
	"evbench/plan"
	"evbench/testing/expect"
	"evbench/testing/need"
	"evbench/testing/topologytest"
	"evbench/topology"
)

// apply has ip read the files in the namespaces of a lab, whose interfaces are
// called as ours.
func apply(t *testing.T, l *lab.Lab, b *Batch, dir string) {
	t.Helper()
	expect.Must(t, expect.Err(b.Write(dir)))
	for n := range b.nodes() {
		cmd := exec.CommandContext(t.Context(), "ip", "-force", "-batch", filepath.Join(dir, b.Name(companion.Node(n))+".batch"))
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		expect.Must(t, l.StartCommand(lab.Node(n), cmd))
		if err := cmd.Wait(); err != nil || out.Len() > 0 {
			t.Fatalf("ip in %s: %v\n%s", b.Name(companion.Node(n)), err, out.Bytes())
		}
	}
}

// TestKernelsForward has real kernels take the files, and sends from every server
// to every other on every path that is alive; then a link dies and other files
// take its routes away.
func TestKernelsForward(t *testing.T) {
	need.Programs(t, "lab", "ip")
	three := topology.Options{Ports: 2, Leaves: 4, Pods: 2, Fill: []int{2, 1, 2, 1}}
	t.Run("two levels", func(t *testing.T) { forward(t, small(t), small(t, "leaf0-spine1")) })
	t.Run("parallel cables", func(t *testing.T) {
		cables := topology.Options{Ports: 2, Leaves: 3, Spines: 2, Cables: 2}
		forward(t, topologytest.Tree(t, cables), topologytest.Tree(t, cables, "leaf0-spine1/0"))
	})
	t.Run("three levels", func(t *testing.T) {
		forward(t, topologytest.Tree(t, three), topologytest.Tree(t, three, "pod1-spine0-top1", "leaf0-spine1"))
	})
}

// forward has kernels forward on a whole tree and then on a broken one, where leaf0 has
// lost path 1.
func forward(t *testing.T, tree, broken *topology.Tree) {
	t.Helper()
	l := expect.Value(lab.Start(t.Context(), lab.Options{Tree: tree}))(t)
	defer l.Close()
	dir := t.TempDir()
	for _, now := range []*topology.Tree{tree, broken} {
		b := build(t, now, plan.Options{Schedule: "fors"})
		apply(t, l, b, dir)
		for src := range now.Servers() {
			for dst := range now.Servers() {
				for path := companion.Single; path < now.Paths(); path++ {
					x, y := now.Leaf(src), now.Leaf(dst)
					if src == dst || path >= 0 && x != y && !now.PathAlive(x, y, path) {
						continue
					}
					expect.OK(t, transfer(t.Context(), l, src, dst, path, []byte{1}), "down %v, %d to %d on path %d", now.DownNames(), src, dst, path)
				}
			}
		}
	}
	err := l.In(0, func() error {
		cmd := exec.CommandContext(t.Context(), "ip", "route", "show", "proto", fmt.Sprint(protocol), "10.1.0.0/16")
		out, err := cmd.CombinedOutput()
		expect.True(t, len(out) == 0, "leaf0 still has %s", out)
		return err
	})
	expect.OK(t, err)
}
