package main

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strings"

	"evbench/internal/proc"
)

// beside runs the cases that BookSim can run with both, seed by seed in turn, and prints
// how far and how fast they are.
func beside(ctx context.Context, o *options, cases []Case, stdout io.Writer) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var all []Beside
	for _, c := range cases {
		if _, ok := BookSimConfig(c); !ok {
			continue
		}
		b := Beside{Case: c}
		for k := range Seeds(c, o.seeds) {
			one := Seeded(c, k)
			theirs, err := runBookSim(ctx, o.booksim, one)
			if err != nil {
				return fmt.Errorf("case %s: %s: %w", c["case"], o.booksim, err)
			}
			begun := processor()
			r, err := Run(one)
			if err != nil {
				return fmt.Errorf("case %s: %w", c["case"], err)
			}
			b.Theirs = append(b.Theirs, theirs)
			b.Ours = append(b.Ours, Side{Accepted: r.Accepted, CPU: processor() - begun})
		}
		all = append(all, b)
	}
	if len(all) == 0 {
		return proc.Usagef("--referee: none of these cases runs on BookSim without additions")
	}
	PrintBeside(stdout, all)
	return nil
}

// maxPrinted bounds what BookSim prints of a case.
const maxPrinted = 64 << 20

func runBookSim(ctx context.Context, binary string, c Case) (s Side, err error) {
	config, _ := BookSimConfig(c)
	cmd := exec.CommandContext(ctx, binary, "/dev/stdin")
	cmd.Stdin = strings.NewReader(config)
	printed, err := proc.Output(cmd, maxPrinted)
	if cmd.ProcessState == nil {
		return s, err
	}
	// Its exit code says whether the network was stable, not whether it ran.
	s.CPU = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	s.Accepted, err = BookSimAccepted(string(printed))
	return s, err
}
