package main

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"evbench/testing/expect"
)

func TestCollect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		cause := errors.New("stopped")
		count := func(give func(int) error) error {
			for i := range 3 {
				time.Sleep(time.Second)
				if err := give(i); err != nil {
					return err
				}
			}
			return nil
		}
		all, err := collect(ctx, count)
		expect.True(t, err == nil && len(all) == 3, "%v, %v", all, err)
		time.AfterFunc(2500*time.Millisecond, func() { cancel(cause) })
		if all, err := collect(ctx, count); !errors.Is(err, cause) || len(all) != 2 {
			t.Errorf("%v, %v", all, err)
		}
		time.Sleep(time.Minute)
	})
}
