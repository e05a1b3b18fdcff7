// Package tool answers: what do the programs of evidence have in common, beside how they start and end (internal/programs)?
package tool

import (
	"context"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"

	"evbench/internal/proc"
	"evbench/internal/programs"
)

// Parse reads the flags of a program. Invalid flags are wrong use; flag.ErrHelp, which
// programs.Code handles, is not.
func Parse(f *flag.FlagSet, args []string) error {
	err := f.Parse(args)
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return err
	}
	return proc.Usage(err)
}

// Evbench returns the path of the binary, which must exist.
func Evbench(name string) (string, error) {
	name, err := filepath.Abs(name)
	if err == nil {
		_, err = os.Stat(name)
	}
	if err != nil {
		return "", proc.Usagef("--evbench: %w; make build makes it", err)
	}
	return name, nil
}

// BusyLoop keeps a processor busy until its end.
func BusyLoop(ctx context.Context, dir string) *exec.Cmd {
	return programs.Command(ctx, dir, "/bin/sh", "-c", "while :; do :; done")
}
