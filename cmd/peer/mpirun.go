package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// mpirunArgs starts n ranks on this machine over a network. --oversubscribe also
// has ranks that wait give the processor away, without which they hinder those
// that work; nothing listens outside loopback.
func mpirunArgs(n int, net string, root bool) []string {
	args := []string{"--oversubscribe", "--bind-to", "none", "--mca", "oob_tcp_if_include", "lo", "--mca", "pml", "ob1"}
	if root {
		args = append(args, "--allow-run-as-root")
	}
	if net == netTCP {
		args = append(args, "--mca", "btl", "self,tcp", "--mca", "btl_tcp_if_include", "lo")
	} else {
		args = append(args, "--mca", "btl", "self,vader")
	}
	return append(args, "-n", strconv.Itoa(n))
}

// runC runs the C program. check has it look at every byte.
func (t *tools) runC(ctx context.Context, r row, s side, amount int, check bool) (reading, error) {
	batch := max(s.batch, 1)
	before := (warmup + batch - 1) / batch * batch
	args := append(mpirunArgs(r.n, s.net, os.Geteuid() == 0), t.alltoall, s.mode,
		strconv.Itoa(r.size), strconv.Itoa(amount), strconv.Itoa(before), strconv.Itoa(batch), map[bool]string{false: "0", true: "1"}[check])
	said, err := t.output(t.command(ctx, "mpirun", args...))
	if err != nil {
		return reading{}, err
	}
	return readC(said, r, s, amount)
}

func readC(said string, r row, s side, amount int) (reading, error) {
	want := map[string]string{"mode": s.mode, "n": strconv.Itoa(r.n), "rounds": strconv.Itoa(amount)}
	got := map[string]string{}
	for _, word := range strings.Fields(said) {
		if key, value, ok := strings.Cut(word, "="); ok {
			got[key] = value
		}
	}
	for key, v := range want {
		if got[key] != v {
			return reading{}, fmt.Errorf("the C program printed %q, without %s=%s", strings.TrimSpace(said), key, v)
		}
	}
	seconds, err := strconv.ParseFloat(got["seconds"], 64)
	if err != nil || seconds <= 0 {
		return reading{}, fmt.Errorf("the C program printed %q: seconds=%q is no time", strings.TrimSpace(said), got["seconds"])
	}
	if s.mode != barriers {
		return reading{seconds, rate(r, amount, seconds)}, nil
	}
	median, err := strconv.ParseFloat(got["median_us"], 64)
	if err != nil {
		return reading{}, fmt.Errorf("the C program printed %q: median_us: %w", strings.TrimSpace(said), err)
	}
	return reading{seconds, median}, nil
}

// runMPI runs n ranks of our side under mpirun, over shared memory.
func (t *tools) runMPI(ctx context.Context, n int, w Work) ([]report, error) {
	text, err := json.Marshal(order{Net: netShared, Work: w})
	if err != nil {
		return nil, err
	}
	args := append(mpirunArgs(n, netShared, os.Geteuid() == 0), t.self, rankCommand, string(text))
	said, err := t.output(t.command(ctx, "mpirun", args...))
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
