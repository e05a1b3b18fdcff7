package results

// An ExchangeTime is how long exchanges of a case took: from the completion of one event of
// a server to that of its next (of the first: from its first send), the mean over servers.
// The rows of a case follow one another without a gap and add up to its measured part.
type ExchangeTime struct {
	Case        string
	Repeat      int
	Exchange    uint64 // the first that the row stands for, counted from 0
	Exchanges   int    // how many it stands for: of a case with many, a row has several
	DurationSec float64
}
