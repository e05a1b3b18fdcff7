package host

import (
	"fmt"
	"math"

	"evbench/internal/unit"
)

// A MemoryError says that something takes more memory than this machine has.
type MemoryError struct{ Text string }

func (e *MemoryError) Error() string { return e.Text }

// Usable returns how many bytes of memory may be taken, or 0 where that cannot be known.
func Usable() uint64 { return usable(Available()) }

func usable(available uint64) uint64 { return available/10*9 + available%10*9/10 }

// Fits refuses what takes more memory than may be taken, with what helps; where that is not
// known it refuses nothing.
func Fits(what string, need float64, cure string) error { return fits(what, need, cure, Available()) }

func fits(what string, need float64, cure string, available uint64) error {
	if available == 0 || need <= float64(usable(available)) {
		return nil
	}
	return &MemoryError{fmt.Sprintf("%s %s, this machine has %s free, 90 %% of which may be taken: %s", what,
		unit.Bytes(min(need, math.MaxInt64/2)), unit.Bytes(available), cure)}
}

// Room returns how many items of so many bytes fit into the memory that may be taken.
func Room(each uint64) int {
	if bytes := Usable(); bytes > 0 {
		return int(bytes / each)
	}
	return math.MaxInt
}
