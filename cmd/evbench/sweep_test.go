package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"evbench/testing/expect"
)

var kills = flag.Int("kills", 4, "how often TestKilled kills a shard")

// A shard that is killed at any point, again and again, goes on from its journal: in the end no item
// is lost or doubled, and the shards print what the whole does.
//
//gate:race
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	args := []string{"whatif", "-t", "FT(2;6,6)", "--k", "2", "--json"}
	_, want, _ := output(t, dir, append(args, "--quiet")...)
	shard := func(i int) []string {
		return append(args, "--shard", fmt.Sprintf("%d/2", i), "--journal", fmt.Sprintf("%d.journal", i), "--quiet")
	}
	name, r := filepath.Join(dir, "1.journal"), rand.New(rand.NewPCG(1, uint64(*kills)))
	done := 0
	for range *kills {
		p := begin(t, dir, shard(1)...)
		p.awaitSize(name, size(t, name)+r.Int64N(30_000/int64(*kills)))
		p.signal(syscall.SIGKILL)
		code, said := p.end()
		// It counts for less than 0.1 s: on a busy machine it may have ended before the test looks.
		expect.True(t, code == -1 || code == exitDone, "ended with %d before it was killed: %s", code, said)
		now := strings.Count(string(expect.Value(os.ReadFile(name))(t)), "\n")
		expect.True(t, now >= done, "%d lines after %d", now, done)
		done = now
	}
	for i := range 2 {
		code, out, said := output(t, dir, shard(i+1)...)
		expect.MustTrue(t, code == exitDone && strings.Contains(out, `"schema":"evbench/shard/1"`), "exit %d: %s%s", code, out, said)
	}
	code, got, said := output(t, dir, "merge", "1.journal", "2.journal")
	expect.True(t, code == exitDone && got == want, "exit %d: %s%s\nwant %s", code, said, got, want)
}

func size(t *testing.T, name string) int64 {
	t.Helper()
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return 0
	}
	expect.Must(t, err)
	return info.Size()
}

// awaitSize returns once a file has so many bytes, or the program has ended.
func (p *program) awaitSize(name string, bytes int64) {
	p.t.Helper()
	gone := p.gone()
	for tick := time.NewTicker(time.Millisecond); size(p.t, name) < bytes; {
		select {
		case <-tick.C:
		case <-gone:
			return
		}
	}
}

// An interrupt leaves a journal, from which the command goes on to the same output.
//
//gate:race
func TestInterruptedShard(t *testing.T) {
	dir := t.TempDir()
	args := []string{"whatif", "-t", "FT(2;6,6)", "--k", "2", "--journal", "j", "--json"}
	p := begin(t, dir, args...)
	p.awaitSize(filepath.Join(dir, "j"), 2000)
	p.signal(syscall.SIGINT)
	code, said := p.end()
	// It may have ended before it was told to, as in TestKilled.
	expect.True(t, code == exitDone || code == exitInterrupted && strings.Contains(said, "finished items are in j; the same command resumes from there"), "exit %d: %s", code, said)
	_, got, _ := output(t, dir, args...)
	_, want, _ := output(t, dir, "whatif", "-t", "FT(2;6,6)", "--k", "2", "--json")
	expect.True(t, got == want, "got %s, want %s", got, want)
}
