//go:build mpi

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"evbench/internal/programs"
	"evbench/site/mpi"
	"evbench/testing/expect"
)

func mpiTools(t *testing.T) *tools {
	t.Helper()
	tools := testTools(t)
	expect.Must(t, tools.prepareMPI(t.Context()))
	return tools
}

func TestCDeliversEveryByte(t *testing.T) {
	tools := mpiTools(t)
	for _, net := range []string{netTCP, netShared} {
		for _, s := range []side{
			{mode: "isend"}, {mode: "isend", batch: 2}, {mode: barriers},
		} {
			s.kind, s.net = cProgram, net
			for _, size := range []int{70, 200_000} { // eager, and by rendezvous
				got, err := tools.runC(t.Context(), row{Ranks: 3, Size: size}, s, 6, true)
				expect.True(t, err == nil && got.seconds > 0 && got.value > 0, "%s, %d bytes: %+v, %v", s, size, got, err)
			}
		}
	}
}

func TestCRefusesBadArguments(t *testing.T) {
	tools := mpiTools(t)
	_, err := tools.runC(t.Context(), row{Ranks: 2, Size: 10}, side{mode: "fast", net: netShared}, 1, false)
	expect.Error(t, err, "MODE is")
}

func TestMPIRanksDeliverEveryByte(t *testing.T) {
	expect.MustTrue(t, mpi.Missing == nil, "built with the tag mpi, but without MPI")
	tools := mpiTools(t)
	for _, w := range []Work{
		{Mode: Unsync, Size: 70, Exchanges: 4, Warmup: 2, Batch: 2},
		{Mode: Unsync, Size: 200_000, Exchanges: 4, Warmup: 2},
		{Mode: Phases, Size: 200_000, Exchanges: 4, Warmup: 2},
	} {
		w.Check = true
		reports, err := tools.runMPI(t.Context(), 3, netShared, false, w)
		expect.True(t, err == nil && len(reports) == 3, "%+v: %d reports, %v", w, len(reports), err)
	}
	expect.True(t, expect.Err(tools.runMPI(t.Context(), 2, netShared, false, Work{Mode: "fast"})) != nil, "ranks that failed gave no error")
}

// Both sides run over each layer.
func TestLayers(t *testing.T) {
	tools := mpiTools(t)
	for _, r := range layerRows(2) {
		r.Size = 20_000
		for _, s := range []side{r.Ours, r.Theirs} {
			got, err := tools.slot(t.Context(), r, s, 4)
			expect.True(t, err == nil && got.value > 0, "%s: %+v, %v", s, got, err)
		}
	}
}

// TestPackedRunsAlone: the archive of scripts/pack-peers measures a row of both sides where no program is found but its own, and
// nothing that Open MPI's installation here would give it.
func TestPackedRunsAlone(t *testing.T) {
	if mpi.Family != mpi.OpenMPI {
		t.Skip("the archive has Open MPI")
	}
	dir := t.TempDir()
	t.Setenv("OUT", filepath.Join(dir, "peers.tar.gz"))
	for _, args := range [][]string{{"../../scripts/pack-peers"}, {"tar", "-C", dir, "-xzf", os.Getenv("OUT")}} {
		out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput()
		expect.MustTrue(t, err == nil, "%s: %v: %s", args[0], err, out)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "evbench-peers/run"), "--rows", "barrier.*n=8", "--slots", "1", "--seconds", "0.1", "--json")
	cmd.Env = []string{"PATH=" + filepath.Join(dir, "none"), "HOME=" + dir, "TMPDIR=" + dir}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var d struct {
		Machine machine
		Rows    []struct {
			Ours   []float64 `json:"our_slots"`
			Theirs []float64 `json:"their_slots"`
		}
	}
	expect.MustTrue(t, err == nil && json.Unmarshal(out, &d) == nil, "run: %v: %s", err, &stderr)
	expect.True(t, len(d.Rows) == 1 && len(d.Rows[0].Ours) == 1 && len(d.Rows[0].Theirs) == 1, "rows %s", out)
	ours := expect.Value(filepath.Glob(filepath.Join(dir, "evbench-peers/lib/libmpi.so*")))(t)
	expect.True(t, len(ours) == 1 && strings.Contains(d.Machine.MPI, "Open MPI"), "libraries %q of %q", ours, d.Machine.MPI)
}

// TestARowFromEndToEnd measures one small row, and leaves nothing behind.
func TestARowFromEndToEnd(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var stdout, stderr bytes.Buffer
	args := []string{"--rows", "deliver, n=4, 64 KiB", "--slots", "2", "--seconds", "0.1"}
	code := run(t.Context(), args, strings.NewReader(""), &stdout, &stderr)
	expect.MustTrue(t, code == programs.ExitDone, "exit %d\n%s", code, &stderr)
	expect.True(t, strings.Contains(stdout.String(), "too few slots") && !strings.Contains(stdout.String(), "failed"), "printed\n%s", &stdout)
}
