package survey

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

// A set that takes long does not keep a survey that is to stop, and counts no more.
func TestWhatIfLeavesSetsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		w := &whatIf{opt: WhatIfOptions{Workers: 1}, jobs: make([]job, 9)}
		begun, held := 0, make(chan struct{})
		err := w.all(ctx, func(j *job) error {
			if begun++; begun == 3 {
				cancel()
				<-held
			}
			w.finish(j, planned, nil, nil)
			return nil
		})
		if !errors.Is(err, context.Canceled) || w.done != 2 {
			t.Errorf("%d sets done, error %v", w.done, err)
		}
		close(held)
		synctest.Wait()
		if w.done != 2 || w.jobs[2].state != waiting || begun != 3 {
			t.Errorf("afterwards %d sets are done, %d begun", w.done, begun)
		}
	})
}
