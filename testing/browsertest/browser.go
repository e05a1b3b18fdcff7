// Package browsertest opens pages in a real browser, for tests.
package browsertest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"evbench/testing/need"
)

// A Browser has a page open, and records its errors.
type Browser struct {
	Ctx context.Context

	mu       sync.Mutex
	troubles []string
}

// shared is the common browser of a package's tests: starting one takes seconds, and much of a
// processor.
var shared struct {
	sync.Mutex
	on  bool
	ctx context.Context // nil before the first page
	end func() error
}

// Main runs the tests of a package, with pages as tabs of one browser; call it in TestMain. It
// returns the exit code. In a package without Main each page has its own browser.
func Main(m *testing.M) int {
	shared.on = true
	code := m.Run()
	if shared.end != nil {
		if err := shared.end(); err != nil {
			fmt.Fprintln(os.Stderr, "browsertest:", err)
			return max(code, 1)
		}
	}
	return code
}

// Open opens the page of an address in Chromium, which the test needs.
func Open(t *testing.T, url string) *Browser {
	t.Helper()
	program := need.Programs(t, "chromium", "chromium")[0]
	b := &Browser{Ctx: tab(t, program)}
	if err := chromedp.Listen(b.Ctx, b.listen); err != nil {
		t.Fatal(err)
	}
	Call(t, b.Ctx, log.Enable, cdp.Empty{})
	b.Do(t, chromedp.Navigate(url), chromedp.WaitReady("footer"))
	return b
}

// tab is a page that shares only the process with others; it is closed with the test.
func tab(t *testing.T, program string) context.Context {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	browser := shared.ctx
	if browser == nil {
		ctx, end, err := start(program)
		if err != nil {
			t.Fatal(err)
		}
		if browser = ctx; shared.on {
			shared.ctx, shared.end = ctx, end
		} else {
			t.Cleanup(func() {
				if err := end(); err != nil {
					t.Error(err)
				}
			})
		}
	}
	ctx, closed := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	t.Cleanup(closed)
	return ctx
}

// start starts a browser; end returns when it has ended.
func start(program string) (ctx context.Context, end func() error, err error) {
	// No sandbox: root cannot have one, and the page is our own.
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.WindowSize(1280, 800))
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, _ = chromedp.NewContext(allocator)
	end = func() error {
		defer stop()
		return chromedp.Cancel(ctx)
	}
	if err := chromedp.Do(ctx); err != nil {
		return nil, nil, errors.Join(err, end())
	}
	return ctx, end, nil
}

// Call sends a command of the protocol to the page.
func Call[P, R any](t *testing.T, ctx context.Context, command cdp.Command[P, R], params P) {
	t.Helper()
	if _, err := chromedp.Call(ctx, command, params); err != nil {
		t.Fatal(err)
	}
}

// listen records errors and warnings of the console, and exceptions.
func (b *Browser) listen(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		b.troubles = append(b.troubles, fmt.Sprint("console: ", e.Type, e.Args))
	case *runtime.EventExceptionThrown:
		b.troubles = append(b.troubles, fmt.Sprintf("exception: %+v", e.ExceptionDetails))
	case *log.EventEntryAdded:
		b.troubles = append(b.troubles, "log: "+e.Entry.Text)
	}
}

func (b *Browser) Do(t *testing.T, actions ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(b.Ctx, actions...); err != nil {
		t.Fatal(err)
	}
}

// Text evaluates an expression of the page to a string.
func (b *Browser) Text(t *testing.T, expression string) string {
	t.Helper()
	out, err := chromedp.Run(b.Ctx, chromedp.Evaluate[string](expression))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Quiet checks that the page had no errors.
func (b *Browser) Quiet(t *testing.T) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.troubles {
		t.Error(s)
	}
}

// Is checks the value of an expression of the page.
func (b *Browser) Is(t *testing.T, what, expression, want string) {
	t.Helper()
	if got := b.Text(t, expression); got != want {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}
