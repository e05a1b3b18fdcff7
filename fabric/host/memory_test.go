package host

import (
	"errors"
	"fmt"
	"math"
	"testing"
)

func TestFits(t *testing.T) {
	for _, tt := range []struct {
		need      float64
		available uint64
		fits      bool
	}{
		{0, 0, true}, {math.MaxFloat64, 0, true}, // not known
		{900, 1000, true}, {901, 1000, false}, {math.MaxFloat64, 1 << 40, false},
	} {
		err := fits("plans need", tt.need, "make fewer", tt.available)
		if _, memory := errors.AsType[*MemoryError](err); tt.fits != (err == nil) || !tt.fits && !memory {
			t.Errorf("%v of %d: %v", tt.need, tt.available, err)
		}
	}
	if err := fits("plans need", 2<<30, "make fewer", 1<<30); fmt.Sprint(err) != "plans need 2GiB, this machine has 1GiB free, 90 % of which may be taken: make fewer" {
		t.Error(err)
	}
}
