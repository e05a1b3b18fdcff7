// Package heap has a queue that gives the first of its elements first.
package heap

// A Heap is such a queue. Before orders the elements; of no two it may call neither the first.
type Heap[T interface{ Before(T) bool }] []T

// Push adds an element. O(log n).
func (h *Heap[T]) Push(e T) {
	s := append(*h, e)
	i := len(s) - 1
	for i > 0 && e.Before(s[(i-1)/2]) {
		s[i] = s[(i-1)/2]
		i = (i - 1) / 2
	}
	s[i] = e
	*h = s
}

// Pop takes the first element; there must be one. O(log n).
func (h *Heap[T]) Pop() T {
	s := *h
	first, last := s[0], len(s)-1
	s[0] = s[last]
	*h = s[:last]
	if last > 1 {
		h.Down(0)
	}
	return first
}

// Down puts the element at i behind those below it that come before it. O(log n).
func (h *Heap[T]) Down(i int) {
	s := *h
	e := s[i]
	for c := 2*i + 1; c < len(s); c = 2*i + 1 {
		if c+1 < len(s) && s[c+1].Before(s[c]) {
			c++
		}
		if !s[c].Before(e) {
			break
		}
		s[i] = s[c]
		i = c
	}
	s[i] = e
}
