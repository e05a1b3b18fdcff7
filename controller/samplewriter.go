package controller

import (
	"fmt"

	"evbench/results"
)

// A sampleWriter passes samples on in their order, in a goroutine of its own: a stalled file system
// must not keep the case from reading its workers' messages.
type sampleWriter struct {
	waiting chan *results.Sample
	done    chan struct{}
}

// mostWaiting bounds the samples that wait to be written: those of 64 servers for 20 s at 20 ms
// each. A longer queue ends the case.
const mostWaiting = 1 << 16

func newSampleWriter(write func(results.Sample)) *sampleWriter {
	s := &sampleWriter{make(chan *results.Sample, mostWaiting), make(chan struct{})}
	go func() {
		defer close(s.done)
		for x := range s.waiting {
			if write != nil {
				write(*x)
			}
		}
	}()
	return s
}

func (s *sampleWriter) put(x results.Sample) error {
	select {
	case s.waiting <- &x:
		return nil
	default:
		return fmt.Errorf("%d samples wait to be written: what takes them does not keep up", mostWaiting)
	}
}

// end waits until all samples are written.
func (s *sampleWriter) end() {
	close(s.waiting)
	<-s.done
}
