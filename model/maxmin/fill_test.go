package maxmin

// Fill is Refill after a change of capacities.
func (s *Shares) Fill() {
	s.from = 0
	s.Refill()
}
