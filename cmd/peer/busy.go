package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// idleEnough is how busy the processors may be before we begin. Other load need
// not hit both sides alike: MPI's ranks spin while they wait and ours sleep, so
// a ratio may then be wrong, and not only noisy.
const idleEnough = 0.1

// busyNow returns how much of all processors is used while we do nothing, 0..1.
func busyNow(ctx context.Context) (float64, error) {
	before, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, err
	}
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	after, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, err
	}
	return busyBetween(string(before), string(after))
}

// busyBetween compares two readings of /proc/stat.
func busyBetween(before, after string) (float64, error) {
	idle0, all0, err := ticks(before)
	if err != nil {
		return 0, err
	}
	idle1, all1, err := ticks(after)
	if err != nil {
		return 0, err
	}
	if all1 <= all0 {
		return 0, nil
	}
	return 1 - float64(idle1-idle0)/float64(all1-all0), nil
}

// ticks reads the sum over all processors: user nice system idle iowait irq
// softirq steal; what follows is contained in these.
func ticks(stat string) (idle, all int64, err error) {
	line, _, _ := strings.Cut(stat, "\n")
	f := strings.Fields(line)
	if len(f) < 9 || f[0] != "cpu" {
		return 0, 0, fmt.Errorf("/proc/stat begins with %q", line)
	}
	for i, word := range f[1:9] {
		v, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return 0, 0, fmt.Errorf("/proc/stat: %w", err)
		}
		all += v
		if i == 3 || i == 4 {
			idle += v
		}
	}
	return idle, all, nil
}
