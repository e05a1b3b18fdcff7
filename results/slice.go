package results

// A Slice is one measurement of one case: that of one round, or a further one where
// the first was rejected.
type Slice struct {
	Case    string `json:"case"`
	Repeat  int    `json:"repeat"` // number of the slice among those of its case, from 0; as in samples.csv
	Round   int    `json:"round"`  // from 0
	Control bool   `json:"control,omitempty"`

	StartSec         float64 `json:"start_s"` // since the first slice of the run began
	EventsPerSec     float64 `json:"events_per_s"`
	GoodputBitPerSec float64 `json:"goodput_bit_per_s"` // per server
	Efficiency       float64 `json:"efficiency"`        // 0: the rate of the links is not known
	// Ratio is to the control of the same round; 0 where it has none.
	Ratio       float64 `json:"ratio_to_control"`
	Exchanges   uint64  `json:"exchanges"`
	MeasuredSec float64 `json:"measured_s"`
	// BarrierWaitSec is the mean over servers.
	BarrierWaitSec float64 `json:"barrier_wait_s"`
	Complete       bool    `json:"complete"`

	Load []Load `json:"load,omitempty"` // of each machine that told
	// Delay is the share of the time for which a server waited for a processor (see
	// the function of that name).
	Delay float64 `json:"delay"`
	// Rejected says what on the machine disturbed the slice, so that it does not count;
	// "": it counts. What came out of the slice has no part in that.
	Rejected string `json:"rejected,omitempty"`

	// Took are the times in seconds of its exchanges, which exchanges.csv holds; ordered: of
	// its windows.
	Took []float64 `json:"-"`
}

// Value is what slices are compared by: the efficiency, or the goodput where no rate of
// the links is known.
func (s Slice) Value() float64 {
	if s.Efficiency > 0 {
		return s.Efficiency
	}
	return s.GoodputBitPerSec
}

// Counts reports whether the slice counts.
func (s Slice) Counts() bool { return s.Rejected == "" && s.Value() > 0 }

// Pair gives every slice its ratio to the control of its round, where both count.
func Pair(slices []Slice) {
	control := map[int]float64{}
	for _, s := range slices {
		if s.Control && s.Counts() {
			control[s.Round] = s.Value()
		}
	}
	for i := range slices {
		s := &slices[i]
		s.Ratio = 0
		if base := control[s.Round]; base > 0 && s.Counts() {
			s.Ratio = s.Value() / base
		}
	}
}
