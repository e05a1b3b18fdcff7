package host

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// Pin keeps this process on the processors of a list such as "0-15,32": every thread, and so every
// future one. Call it before the work begins. Unless GOMAXPROCS is set, it becomes the number of
// processors in the list.
func Pin(cpus string) error {
	list, err := parseCPUs(cpus)
	if err != nil {
		return err
	}
	var set unix.CPUSet
	for _, n := range list {
		set.Set(n)
	}
	// A thread may start another one just before it is pinned itself: done when a whole round has
	// found no new thread.
	pinned := map[int]bool{}
	for fresh := true; fresh; {
		if fresh, err = pinAll(&set, pinned); err != nil {
			return fmt.Errorf("run on processors %s: %w", cpus, err)
		}
	}
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.SetDefaultGOMAXPROCS()
	}
	return nil
}

// pinAll pins the threads not pinned yet and reports whether there were any.
func pinAll(set *unix.CPUSet, pinned map[int]bool) (fresh bool, err error) {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return false, err
	}
	for _, t := range threads {
		id, err := strconv.Atoi(t.Name())
		if err != nil || pinned[id] {
			continue
		}
		if err := pinThread(id, set); err != nil {
			return false, err
		}
		pinned[id], fresh = true, true
	}
	return fresh, nil
}

// pinThread pins one thread. The kernel silently drops missing processors, so the result is
// compared.
func pinThread(id int, set *unix.CPUSet) error {
	var got unix.CPUSet
	err := unix.SchedSetaffinity(id, set)
	if err == nil {
		err = unix.SchedGetaffinity(id, &got)
	}
	switch {
	case errors.Is(err, unix.ESRCH):
		return nil // the thread has ended
	case errors.Is(err, unix.EINVAL):
		return errors.New("none of them is there and may be used")
	case err != nil:
		return err
	case got != *set:
		return fmt.Errorf("only %d of the %d processors are there and may be used", got.Count(), set.Count())
	}
	return nil
}
