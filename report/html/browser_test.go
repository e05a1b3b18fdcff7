package html_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"evbench/report/figure"
	"evbench/report/html"
	"evbench/report/reporttest"
)

// A browser has a page open, and keeps what goes wrong in it.
type browser struct {
	ctx context.Context

	mu       sync.Mutex
	troubles []string
}

// open opens a page in Chromium. It fails the test where there is none, since
// scripts/setup installs it, and skips it where EVBENCH_WITHOUT names chromium.
func open(t *testing.T, text string) *browser {
	t.Helper()
	if slices.Contains(strings.Split(os.Getenv("EVBENCH_WITHOUT"), ","), "chromium") {
		t.Skip("EVBENCH_WITHOUT names chromium")
	}
	program, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatal("no chromium: install it, or run scripts/setup; EVBENCH_WITHOUT=chromium leaves this out")
	}
	file := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	// No sandbox: it cannot be had as root, and the page is our own.
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.WindowSize(1280, 800))
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(stop)
	ctx, _ := chromedp.NewContext(allocator)
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil { // waits for the browser to end
			t.Error(err)
		}
	})
	b := &browser{ctx: ctx}
	if err := chromedp.Listen(ctx, b.listen); err != nil {
		t.Fatal(err)
	}
	call(t, ctx, log.Enable, cdp.Empty{})
	b.do(t, chromedp.Navigate("file://"+file), chromedp.WaitReady("footer"))
	return b
}

// call sends a command of the protocol to the page.
func call[P, R any](t *testing.T, ctx context.Context, command cdp.Command[P, R], params P) {
	t.Helper()
	if _, err := chromedp.Call(ctx, command, params); err != nil {
		t.Fatal(err)
	}
}

// listen keeps errors and warnings of the console, and exceptions.
func (b *browser) listen(event any) {
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

func (b *browser) do(t *testing.T, actions ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		t.Fatal(err)
	}
}

// text evaluates an expression of the page to a string.
func (b *browser) text(t *testing.T, expression string) string {
	t.Helper()
	out, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](expression))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// quiet checks that nothing went wrong in the page.
func (b *browser) quiet(t *testing.T) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.troubles {
		t.Error(s)
	}
}

// is checks what an expression of the page comes to.
func (b *browser) is(t *testing.T, what, expression, want string) {
	t.Helper()
	if got := b.text(t, expression); got != want {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

const (
	firstCases = `[...document.querySelectorAll("#verdict tbody th")].map(e => e.textContent).join()`
	// shown is the tree of the case that is shown.
	shown = `document.querySelector(".tree:not(.off)")`
	// steps are those of the links in the order of their names, each up and down.
	steps = `[...` + shown + `.querySelectorAll(".k")].sort((a, b) => a.textContent < b.textContent ? -1 : 1)` +
		`.flatMap(k => [...k.querySelectorAll("path:not(.h)")]).map(e => e.getAttribute("class")).join("")`
	slider = `.tree:not(.off) input[type=range]`
)

func TestBrowserSorts(t *testing.T) {
	b := open(t, write(t, input(reporttest.Small(t))))
	b.is(t, "at first", firstCases, "healthy,one dead,unsync")
	const column = `#verdict thead th:nth-child(9)` // measured efficiency
	b.do(t, chromedp.Click(column+" button"))
	b.is(t, "after a click", firstCases, "one dead,healthy,unsync")
	b.is(t, "and the head", `document.querySelector("`+column+`").getAttribute("aria-sort")`, "ascending")
	b.do(t, chromedp.Focus(column+" button"), chromedp.KeyEvent(kb.Enter))
	b.is(t, "after Enter", firstCases, "healthy,unsync,one dead")
	b.is(t, "and the head", `document.querySelector("`+column+`").getAttribute("aria-sort")`, "descending")
	b.do(t, chromedp.Focus(`#verdict thead th:nth-child(1) button`), chromedp.KeyEvent(" "))
	b.is(t, "by name, after the space bar", firstCases, "healthy,one dead,unsync")
	b.is(t, "and the head before", `String(document.querySelector("`+column+`").getAttribute("aria-sort"))`, "null")
	b.quiet(t)
}

func TestBrowserSlider(t *testing.T) {
	b := open(t, write(t, input(reporttest.Small(t))))
	b.is(t, "the case shown first", shown+`.dataset.title`, "one dead")
	whole := b.text(t, steps)
	const label = shown + `.querySelector("output.phase").textContent`
	b.do(t, chromedp.Focus(slider), chromedp.KeyEvent(kb.ArrowRight))
	b.is(t, "label", label, "phase 1 of 5, at most 1")
	first := b.text(t, steps)
	if first == whole {
		t.Errorf("phase 1 and the whole exchange are both drawn as %s", first)
	}
	b.do(t, chromedp.KeyEvent(kb.End))
	b.is(t, "label at the end", label+`.slice(0, 12)`, "phase 5 of 5")
	b.do(t, chromedp.Click(`.tree:not(.off) .next`))
	b.is(t, "the next phase with a shared link", label, "phase 2 of 5, at most 2")
	if second := b.text(t, steps); second == first || !strings.Contains(second, "l2") {
		t.Errorf("phase 2 is drawn as %s, phase 1 as %s", second, first)
	}
	b.do(t, chromedp.Focus(slider), chromedp.KeyEvent(kb.Home))
	b.is(t, "back at the whole exchange", steps, whole)
	b.quiet(t)
}

// Every load that the page unpacks is the one that the plan has.
func TestBrowserUnpacks(t *testing.T) {
	s := reporttest.Small(t)
	b := open(t, write(t, input(s)))
	loads := s.Trees()[1].Loads
	for phase := range loads.Phases {
		var want []string
		for w, n := range loads.Phase(phase) {
			if link := s.Trees()[1].Tree; link.Alive(w/2/link.Spines(), w/2%link.Spines()) {
				want = append(want, fmt.Sprintf("l%d", n))
			}
		}
		b.do(t, chromedp.Focus(slider), chromedp.KeyEvent(kb.ArrowRight))
		b.is(t, fmt.Sprintf("phase %d", phase+1), steps, strings.Join(want, ""))
	}
	b.quiet(t)
}

// Figures of links are read with the pointer and with the keyboard alone.
func TestBrowserReadsLinks(t *testing.T) {
	b := open(t, write(t, input(reporttest.Small(t))))
	const readout = shown + `.querySelector(".readout").textContent`
	b.do(t, chromedp.Focus(`.tree:not(.off) .tree-svg`), chromedp.KeyEvent(kb.ArrowRight))
	b.is(t, "the first link", readout, "leaf0-spine0: dead")
	b.do(t, chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.ArrowRight))
	b.is(t, "one leaf and one spine on", readout+`.slice(0, 12)`, "leaf1-spine1")
	b.is(t, "pointing", `String([...`+shown+`.querySelectorAll(".k")].find(k => k.textContent.startsWith("leaf2-spine0")).dispatchEvent(new PointerEvent("pointerenter")))`, "true")
	b.is(t, "under the pointer", readout+`.slice(0, 12)`, "leaf2-spine0")
	b.do(t, chromedp.Focus(slider), chromedp.KeyEvent(kb.ArrowRight))
	b.is(t, "in a phase", readout+`.slice(0, 25)`, "leaf2-spine0, phase 1: up")
	b.do(t, chromedp.Click(`.picker button:nth-child(3)`))
	b.is(t, "another case", shown+`.dataset.title`, "unsync")
	b.quiet(t)
}

// Nothing sticks out of the page at the width of a laptop, in light and in dark,
// and the print has every case.
func TestBrowserLayout(t *testing.T) {
	for _, name := range []string{"light", "dark", "print"} {
		t.Run(name, func(t *testing.T) {
			source := reporttest.Ten(t)
			b := open(t, write(t, html.Input{Name: "ten", Source: source}))
			media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}}
			if name == "print" {
				media = emulation.SetEmulatedMediaParams{Media: name}
			}
			call(t, b.ctx, emulation.SetEmulatedMedia, media)
			b.is(t, "too wide", `String(Math.max(0, document.documentElement.scrollWidth - innerWidth))`, "0")
			visible := map[string]string{"light": "1", "dark": "1", "print": "10"}[name]
			b.is(t, "trees to be seen", `String([...document.querySelectorAll(".tree")].filter(e => e.getClientRects().length).length)`, visible)
			dark := `String(getComputedStyle(document.body).backgroundColor !== "rgb(255, 255, 255)" && parseInt(getComputedStyle(document.body).backgroundColor.slice(4)) < 64)`
			b.is(t, "dark", dark, fmt.Sprint(name == "dark"))
			b.quiet(t)
		})
	}
}

// On the screen of a phone nothing sticks out but what can be scrolled, and no text of a
// drawing is smaller than can be read.
func TestBrowserNarrow(t *testing.T) {
	for name, source := range map[string]func(testing.TB) figure.Source{"noisy": reporttest.Noisy, "fail-over": reporttest.FailedOver} {
		t.Run(name, func(t *testing.T) {
			b := open(t, write(t, input(source(t))))
			call(t, b.ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: 420, Height: 900, DeviceScaleFactor: 1})
			b.is(t, "too wide", `String(Math.max(0, document.documentElement.scrollWidth - 420))`, "0")
			b.is(t, "sticking out", `[...document.querySelectorAll("main *, header *")].filter(e => e.getBoundingClientRect().right > 421 && !e.closest(".scroll, .across, .drawing, nav")).map(e => e.outerHTML.slice(0, 80)).join()`, "")
			b.is(t, "texts too small", `[...document.querySelectorAll("svg text")].filter(e => e.getClientRects().length && parseFloat(getComputedStyle(e).fontSize) * Math.hypot(e.getScreenCTM().a, e.getScreenCTM().b) < 8).map(e => e.textContent).join()`, "")
			b.quiet(t)
		})
	}
}

// Without its script the page says the same, and shows no dead control.
func TestBrowserWithoutScript(t *testing.T) {
	text, _, _ := strings.Cut(write(t, input(reporttest.Small(t))), "<script>")
	b := open(t, text)
	b.is(t, "trees", `String([...document.querySelectorAll(".tree")].filter(e => e.getClientRects().length).length)`, "3")
	b.is(t, "sliders", `String([...document.querySelectorAll("input, button")].filter(e => e.getClientRects().length).length)`, "0")
	b.quiet(t)
}

// The page prints.
func TestBrowserPrints(t *testing.T) {
	b := open(t, write(t, input(reporttest.Small(t))))
	pdf, err := chromedp.Run(b.ctx, chromedp.PrintToPDF())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(pdf), "%PDF") {
		t.Errorf("no PDF but %.20q", pdf)
	}
}
