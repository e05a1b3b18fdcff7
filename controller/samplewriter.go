package controller

import (
	"fmt"
	"sync"

	"evbench/results"
)

// A sampleWriter passes samples on beside the case, in their order: who writes them to a file
// system that stands still must not keep the case from listening to its workers.
type sampleWriter struct {
	write func(results.Sample)
	bell  chan struct{} // holds one ring
	done  chan struct{}

	mu      sync.Mutex
	waiting []results.Sample
}

// mostWaiting bounds the samples that wait to be written: those of 64 servers and 20 s at 20
// ms each. With more the case ends.
const mostWaiting = 1 << 16

func newSampleWriter(write func(results.Sample)) *sampleWriter {
	s := &sampleWriter{write: write, bell: make(chan struct{}, 1), done: make(chan struct{})}
	if write == nil {
		s.write = func(results.Sample) {}
	}
	go s.run()
	return s
}

func (s *sampleWriter) run() {
	defer close(s.done)
	for range s.bell {
		for _, x := range s.take() {
			s.write(x)
		}
	}
}

func (s *sampleWriter) take() []results.Sample {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.waiting
	s.waiting = nil
	return all
}

func (s *sampleWriter) put(x results.Sample) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) >= mostWaiting {
		return fmt.Errorf("%d samples wait to be written: what takes them does not keep up", len(s.waiting))
	}
	s.waiting = append(s.waiting, x)
	select {
	case s.bell <- struct{}{}:
	default:
	}
	return nil
}

func (s *sampleWriter) end() {
	close(s.bell)
	<-s.done
}
