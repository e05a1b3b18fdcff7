package expect_test

import (
	"errors"
	"fmt"
	"testing"

	"evbench/testing/expect"
)

// tester keeps what a check says of the test that it stands in for.
type tester struct {
	testing.TB
	said  string
	ended bool
}

func (r *tester) Helper()                   {}
func (r *tester) Error(args ...any)         { r.said += fmt.Sprint(args...) }
func (r *tester) Errorf(f string, a ...any) { r.said += fmt.Sprintf(f, a...) }
func (r *tester) Fatal(args ...any)         { r.Error(args...); r.ended = true }
func (r *tester) Fatalf(f string, a ...any) { r.Errorf(f, a...); r.ended = true }

func TestChecks(t *testing.T) {
	odd := errors.New("odd")
	f := func(err error) (int, error) { return 7, err }
	for name, tt := range map[string]struct {
		good, bad func(t testing.TB)
		says      string
		ends      bool
	}{
		"Must":     {func(t testing.TB) { expect.Must(t, nil) }, func(t testing.TB) { expect.Must(t, odd, "seed %d", 3) }, "seed 3: odd", true},
		"OK":       {func(t testing.TB) { expect.OK(t, nil) }, func(t testing.TB) { expect.OK(t, odd) }, "odd", false},
		"Value":    {func(t testing.TB) { expect.Equal(t, expect.Value(f(nil))(t), 7, "f") }, func(t testing.TB) { expect.Value(f(odd))(t) }, "odd", true},
		"Error":    {func(t testing.TB) { expect.Error(t, odd, "o", "dd") }, func(t testing.TB) { expect.Error(t, odd, "even") }, "error odd\nlacks \"even\"", false},
		"no error": {func(t testing.TB) { expect.ErrorIf(t, nil, "") }, func(t testing.TB) { expect.ErrorIf(t, nil, "odd") }, `no error, want one with ["odd"]`, false},
		"Err":      {func(t testing.TB) { expect.Error(t, expect.Err(f(odd)), "odd") }, func(t testing.TB) { expect.OK(t, expect.Err(f(odd))) }, "odd", false},
		"Equal": {func(t testing.TB) { expect.Equal(t, []int{1}, []int{1}, "x") },
			func(t testing.TB) { expect.Equal(t, 1, 2, "%d apples", 3) }, "3 apples: 1, want 2", false},
		"True":      {func(t testing.TB) { expect.True(t, true, "x") }, func(t testing.TB) { expect.True(t, false, "%d left", 3) }, "3 left", false},
		"MustTrue":  {func(t testing.TB) { expect.MustTrue(t, true, "x") }, func(t testing.TB) { expect.MustTrue(t, false, "%d left", 3) }, "3 left", true},
		"Err2":      {func(t testing.TB) { expect.Error(t, expect.Err2(0, "", odd)) }, func(t testing.TB) { expect.OK(t, expect.Err2(0, "", odd)) }, "odd", false},
		"Is":        {func(t testing.TB) { expect.Is(t, fmt.Errorf("very %w", odd), odd) }, func(t testing.TB) { expect.Is(t, nil, odd) }, "error <nil>, want odd", false},
		"False":     {func(t testing.TB) { expect.False(t, false, "x") }, func(t testing.TB) { expect.False(t, true, "%d left", 3) }, "3 left", false},
		"MustFalse": {func(t testing.TB) { expect.MustFalse(t, false, "x") }, func(t testing.TB) { expect.MustFalse(t, true, "%d left", 3) }, "3 left", true},
		"Contains":  {func(t testing.TB) { expect.Contains(t, "abc", "a", "bc") }, func(t testing.TB) { expect.Contains(t, "abc", "a", "d") }, "no \"d\" in\nabc", false},
	} {
		var good, bad tester
		tt.good(&good)
		tt.bad(&bad)
		expect.True(t, good.said == "" && bad.said == tt.says && bad.ended == tt.ends,
			"%s: said %q of what is right; %q of what is wrong, want %q; ended %v", name, good.said, bad.said, tt.says, bad.ended)
	}
}
