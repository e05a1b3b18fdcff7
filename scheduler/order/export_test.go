package order

import "evbench/scheduler"

// ByPairs is the greedy rule of large exchanges.
func (p *Exchange) ByPairs() *scheduler.Plan { return p.byPairs() }
