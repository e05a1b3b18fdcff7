package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// onCommand makes this program another one on a processor of its own.
const onCommand = "on"

// byLauncher, in place of a number, has a rank take its number from its launcher.
const byLauncher = "launcher"

// launched are the variables by which launchers tell a rank its number on this machine.
var launched = []string{"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "PMI_RANK"}

// on returns the command that runs a program as a rank on its own processor.
func (t *tools) on(rank string, program []string) []string {
	return append([]string{t.self, onCommand, rank}, program...)
}

// become turns this process into a program, on the processor of its rank alone: the first rank has the
// first processor that this process may use, and so on. It returns only with an error.
func become(rank string, program []string) error {
	for i := 0; rank == byLauncher && i < len(launched); i++ {
		if v, ok := os.LookupEnv(launched[i]); ok {
			rank = v
		}
	}
	n, err := strconv.Atoi(rank)
	if err != nil || n < 0 {
		return fmt.Errorf("rank %q: not a number, and no launcher says one", rank)
	}
	runtime.LockOSThread() // of the threads, the new program takes over this one
	var all, own unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		return fmt.Errorf("processors: %w", err)
	}
	cpu, err := nth(&all, n)
	if err != nil {
		return err
	}
	own.Set(cpu)
	if err := unix.SchedSetaffinity(0, &own); err != nil {
		return fmt.Errorf("processor %d: %w", cpu, err)
	}
	return fmt.Errorf("%s: %w", program[0], syscall.Exec(program[0], program, os.Environ()))
}

// nth returns the n-th processor of a set, from 0.
func nth(set *unix.CPUSet, n int) (int, error) {
	for cpu, seen := 0, 0; seen < set.Count(); cpu++ {
		if set.IsSet(cpu) {
			if seen == n {
				return cpu, nil
			}
			seen++
		}
	}
	return 0, fmt.Errorf("rank %d: this process may use %d processors", n, set.Count())
}
