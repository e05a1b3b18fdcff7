package host

import (
	"fmt"
	"math"

	"evbench/internal/unit"
)

// A MemoryError refuses what takes more memory than this machine has.
type MemoryError struct{ Text string }

func (e *MemoryError) Error() string { return e.Text }

// Usable returns how many bytes of memory may be taken, or 0 if that is unknown.
func Usable() uint64 { return usable(Available()) }

func usable(available uint64) uint64 { return available/10*9 + available%10*9/10 }

// Fits returns an error with a cure if need bytes exceed the usable memory; if that is unknown it
// returns nil.
func Fits(what string, need float64, cure string) error { return fits(what, need, cure, Available()) }

func fits(what string, need float64, cure string, available uint64) error {
	if available == 0 || need <= float64(usable(available)) {
		return nil
	}
	return &MemoryError{fmt.Sprintf("%s %s, this machine has %s free, and evbench takes at most 90 %% of that: %s", what,
		unit.Bytes(min(need, math.MaxInt64/2)), unit.Bytes(available), cure)}
}

// Room returns how many items of each bytes fit into the usable memory.
func Room(each uint64) int {
	if bytes := Usable(); bytes > 0 {
		return int(bytes / each)
	}
	return math.MaxInt
}
