//go:build hdf5

package hdf5

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"evbench/results"
)

// The environment names to a process of TestMain's the file that it is to write
// until it is killed, and after how many samples it is to wait for that.
const (
	childFile  = "EVBENCH_TEST_HDF5_FILE"
	childPause = "EVBENCH_TEST_HDF5_PAUSE"
)

func TestMain(m *testing.M) {
	if name := os.Getenv(childFile); name != "" {
		fmt.Fprintln(os.Stderr, child(name))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// numbered is a sample that tells its place.
func numbered(i int) results.Sample {
	return results.Sample{Case: "a", TSec: float64(i), Server: i % 16, Events: uint64(i)}
}

// lot is how many samples are flushed at once.
const lot = 100

// child writes samples, flushes each lot and says so. It never ends.
func child(name string) error {
	w, err := create(name, nil)
	if err != nil {
		return err
	}
	m := results.Manifest{Name: "killed", Predictions: []results.Prediction{{Case: "a"}}}
	if err := errors.Join(w.Plan("a", []byte("0 1 2 3\n")), w.Manifest(m)); err != nil {
		return err
	}
	pause := os.Getenv(childPause)
	for i := 1; ; i++ {
		if err := w.Sample(numbered(i - 1)); err != nil {
			return err
		}
		if i%lot != 0 {
			continue
		}
		if strconv.Itoa(i) == pause { // this lot is never flushed
			fmt.Println(i - lot)
			_, err := os.Stdin.Read(make([]byte, 1))
			return err
		}
		if err := w.Flush(); err != nil {
			return err
		}
		fmt.Println(i)
	}
}

// kill starts a child, lets it report so many times, and kills it with SIGKILL.
// It returns how many samples the child said to be flushed.
func kill(t *testing.T, name string, reports int, env ...string) (flushed int) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), childFile+"="+name), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if _, err := cmd.StdinPipe(); err != nil { // stays open
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for n := 0; n < reports && lines.Scan(); n++ {
		if flushed, err = strconv.Atoi(lines.Text()); err != nil {
			t.Error(err)
		}
	}
	killErr := cmd.Process.Kill()
	var exit *exec.ExitError
	if err := cmd.Wait(); killErr != nil || !errors.As(err, &exit) || exit.Exited() {
		t.Fatalf("the writer ended by itself: %v\n%s", err, stderr.String())
	}
	return flushed
}

// readKilled reads what a killed child left, and checks it row by row.
func readKilled(t *testing.T, name string) (rows int) {
	t.Helper()
	run, err := Read(name)
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range run.Samples {
		if s != numbered(i) {
			t.Fatalf("row %d is %+v", i, s)
		}
	}
	if run.Manifest.Name != "killed" || run.Manifest.Complete || run.Summary.Schema != "" || len(run.Links) != 0 {
		t.Errorf("manifest %+v, summary %+v, %d links", run.Manifest, run.Summary, len(run.Links))
	}
	if plans, err := Plans(name); err != nil || string(plans["a"]) != "0 1 2 3\n" {
		t.Errorf("plans %q, %v", plans, err)
	}
	return len(run.Samples)
}

// A writer that is killed while it writes and flushes without a break leaves a
// file that holds at least what was flushed, in order.
func TestKilled(t *testing.T) {
	for round := range 12 {
		name := filepath.Join(t.TempDir(), File)
		flushed := kill(t, name, 1+round*7)
		if rows := readKilled(t, name); rows < flushed {
			t.Errorf("%d samples, %d were flushed", rows, flushed)
		}
	}
}

// One that is killed between two flushes leaves exactly what was flushed; the
// tool of the library reads it too.
func TestKilledBetweenFlushes(t *testing.T) {
	name := filepath.Join(t.TempDir(), File)
	const want = 12 * lot
	if flushed := kill(t, name, 13, childPause+"="+strconv.Itoa(want+lot)); flushed != want {
		t.Fatalf("%d samples flushed, want %d", flushed, want)
	}
	if rows := readKilled(t, name); rows != want {
		t.Errorf("%d samples, %d were flushed", rows, want)
	}
	out, err := exec.Command("h5dump", "-y", "-w", "0", "-d", "/samples", name).CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("( 1200 ) / ( H5S_UNLIMITED )")) || !bytes.Contains(out, []byte(" 1199,\n")) {
		t.Errorf("h5dump (package hdf5-tools): %v\n%s", err, out)
	}
}

// Rows are flushed while the run goes on, without being asked for.
func TestFlushesByItself(t *testing.T) {
	name := filepath.Join(t.TempDir(), File)
	tick := make(chan time.Time)
	w, err := create(name, tick)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Manifest(results.Manifest{Name: "killed"}), w.Plan("a", []byte("0 1 2 3\n")), w.Sample(numbered(0)), w.Sample(numbered(1))); err != nil {
		t.Fatal(err)
	}
	tick <- time.Time{}
	tick <- time.Time{} // it is back for this one when the first is done
	// The copy is what a kill would leave now.
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(t.TempDir(), "left.h5")
	if err := errors.Join(os.WriteFile(left, text, 0o600), w.Close()); err != nil {
		t.Fatal(err)
	}
	if rows := readKilled(t, left); rows != 2 {
		t.Errorf("%d samples are in the file before it is closed, want 2", rows)
	}
}
