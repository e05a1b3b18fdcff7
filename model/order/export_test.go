package order

// ByPairs is the greedy rule of large exchanges.
func (p *Problem) ByPairs() *Schedule { return p.byPairs() }
