// Package splitmix answers: which random numbers follow from a seed? The generator is SplitMix64 (Steele, Lea and Flood, OOPSLA
// 2014).
package splitmix

// Step is what a generator adds to its state for each number.
const Step = 0x9e3779b97f4a7c15

// Mix returns the number of a state.
func Mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// A Random is a generator; its value is the state.
type Random uint64

func (r *Random) Next() uint64 {
	*r += Step
	return Mix(uint64(*r))
}

// Below returns a number from 0 to n-1; the bias is below n/2^32.
func (r *Random) Below(n int) int { return int(r.Next() >> 32 * uint64(n) >> 32) }
