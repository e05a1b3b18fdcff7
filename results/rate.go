package results

// A TriedRate is a link rate that was tried before a run, to find one that the machine
// can carry: what a synchronised linear shift on the healthy tree came to at it.
type TriedRate struct {
	RateBitPerSec int64   `json:"rate_bit_per_s"`
	Efficiency    float64 `json:"efficiency"` // as measured; 0 where the time was over before an exchange was
	Predicted     float64 `json:"predicted"`
}

// Share is what was measured as a share of what was predicted.
func (t TriedRate) Share() float64 {
	if t.Predicted == 0 {
		return 0
	}
	return t.Efficiency / t.Predicted
}
