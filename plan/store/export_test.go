package store

// Entries returns all entries in the order of the index.
func (s *Store) Entries() []Entry { return s.entries }
