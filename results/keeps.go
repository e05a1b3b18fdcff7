package results

// Keeps says what a sink of results keeps beside what every sink does. What nobody keeps is
// not made: counting pairs costs workers a little, and plans are long.
type Keeps struct {
	Pairs bool // what each server received of each other one
	Plans bool // in their text form
}
