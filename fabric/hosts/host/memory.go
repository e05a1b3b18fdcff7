package host

import (
	"fmt"
	"math"

	"evbench/internal/unit"
)

// A MemoryError says that something takes more memory than this machine has.
type MemoryError struct{ Text string }

func (e *MemoryError) Error() string { return e.Text }

// Fits refuses what takes more memory than is free, with what helps; where that is not
// known it refuses nothing.
func Fits(what string, need float64, cure string) error { return fits(what, need, cure, Available()) }

func fits(what string, need float64, cure string, available uint64) error {
	if available == 0 || need <= float64(available)*0.9 {
		return nil
	}
	return &MemoryError{fmt.Sprintf("%s %s, this machine has %s free: %s", what,
		unit.Bytes(min(need, math.MaxInt64/2)), unit.Bytes(available), cure)}
}

// Room returns how many items of so many bytes fit into the memory that is free.
func Room(each uint64) int {
	if free := Available(); free > 0 {
		return int(free / each)
	}
	return math.MaxInt
}
