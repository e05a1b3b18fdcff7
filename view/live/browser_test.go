package live_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"evbench/bench"
	"evbench/internal/answer"
	"evbench/results"
	"evbench/testing/browsertest"
	"evbench/testing/expect"
	"evbench/topology"
)

func TestMain(m *testing.M) { os.Exit(browsertest.Main(m)) }

// until waits until an expression of the page is true.
func until(expression string) chromedp.Action[chromedp.Void] {
	return chromedp.Poll[chromedp.Void](expression, chromedp.WithPollingTimeout(0))
}

// The page follows the run without being loaded again, and stays as it is when it has ended.
func TestBrowserFollows(t *testing.T) {
	s, x := serve(t)
	b := browsertest.Open(t, s.URL())
	b.Is(t, "at first", `document.querySelector("#where .left").textContent`, "about 1m0s left")
	measured(x)
	b.Do(t, until(`document.querySelector("#where").textContent.includes("round 2 of 2 [2/3] one dead: install") && !!document.querySelector("#failovers tbody tr")`))
	b.Is(t, "cases", `[...document.querySelectorAll("#cases tbody th")].map(e => e.textContent).join()`, "healthy <b>,one dead,dies")
	b.Is(t, "rates", `[...document.querySelectorAll("#rounds tbody td")].map(e => e.textContent).join()`, "5.000,3.000,4.000")
	b.Is(t, "fail-overs", `[...document.querySelectorAll("#failovers tbody tr")].map(e => [...e.cells].slice(0, 5).map(c => c.textContent)).join("; ")`, "dies,leaf2-spine1 down,2.00,0.30,1.00")

	const shown = `[...document.querySelectorAll("#trees > div")].filter(e => !e.hidden).map(e => e.querySelector(".tree").dataset.title).join()`
	const dead = `[...document.querySelectorAll("#trees > div:not([hidden]) .k.dead title")].map(e => e.textContent).join()`
	b.Is(t, "the tree", shown, "one dead")
	b.Is(t, "its dead links", dead, "leaf0-spine0: dead")
	x.Say(x.Of(2, 1), bench.LinksChanged{Down: []topology.Link{{Leaf: 3, Spine: 3}}})
	b.Do(t, until(dead+` === "leaf0-spine0: dead,leaf3-spine3: dead"`))
	b.Do(t, chromedp.Click(`#picker button:nth-child(2)`))
	b.Is(t, "the tree that was chosen", shown, "healthy <b>")
	x.Slice(2, 1, 3)
	b.Do(t, until(`document.querySelectorAll("#rounds thead th").length === 3`))
	b.Is(t, "still", shown, "healthy <b>")
	b.Do(t, until(`document.querySelector("#trees [data-part='tree one dead'] .k:nth-child(2) title").textContent === `+
		`"leaf0-spine1: up 16, down 16 messages in an exchange; carried 2 kB up, 0 B down"`))

	sum := x.Standing()
	sum.Answer = &results.Answer{Answer: answer.Answer{Verdict: answer.Good, Sentence: "One dead cable costs nothing."}}
	x.Say(bench.Place{}, bench.Ended{Summary: sum})
	expect.OK(t, s.End("Results: here."))
	b.Do(t, until(`document.documentElement.classList.contains("ended")`))
	b.Is(t, "the answer", `document.querySelector(".answer").textContent`, "GOOD: One dead cable costs nothing.")
	b.Is(t, "in the end", `document.querySelector("#where").textContent.includes("The run has ended.") && document.querySelector("#where").textContent.includes("Results: here.") ? "said" : "not said"`, "said")
	b.Is(t, "lost", `String(document.querySelector("#lost").hidden)`, "true")
	b.Is(t, "cases are still there", `String(document.querySelectorAll("#cases tbody th").length)`, "3")
	b.Quiet(t)
}

// Nothing sticks out of the page, wide and narrow, in light and in dark, but what can be
// scrolled; texts of the tree can be read. EVBENCH_SCREENSHOTS is a directory for pictures.
func TestBrowserLayout(t *testing.T) {
	for _, tt := range []struct {
		width int64
		face  string
	}{{1400, "light"}, {1400, "dark"}, {420, "light"}, {420, "dark"}} {
		t.Run(fmt.Sprintf("%d %s", tt.width, tt.face), func(t *testing.T) {
			s, x := serve(t)
			measured(x)
			p := x.Of(2, 1)
			for i := range 20 {
				x.Say(p, bench.Measuring{Elapsed: time.Duration(i+1) * p.Duration / 25, Interval: 3 + float64(i%3)/10, EventsPerSec: 3.1})
			}
			b := browsertest.Open(t, s.URL())
			browsertest.Call(t, b.Ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: tt.width, Height: 900, DeviceScaleFactor: 1})
			browsertest.Call(t, b.Ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: tt.face}}})
			b.Is(t, "too wide", `String(Math.max(0, document.documentElement.scrollWidth - innerWidth))`, "0")
			b.Is(t, "sticking out", `[...document.querySelectorAll("main *, header *")].filter(e => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".scroll, .across")).map(e => e.outerHTML.slice(0, 80)).join()`, "")
			b.Is(t, "texts too small", `[...document.querySelectorAll("svg text")].filter(e => e.getClientRects().length && parseFloat(getComputedStyle(e).fontSize) * Math.hypot(e.getScreenCTM().a, e.getScreenCTM().b) < 8).map(e => e.textContent).join()`, "")
			b.Is(t, "dark", `String(parseInt(getComputedStyle(document.body).backgroundColor.slice(4)) < 64)`, fmt.Sprint(tt.face == "dark"))
			b.Is(t, "trees to be seen", `String([...document.querySelectorAll(".tree")].filter(e => e.getClientRects().length).length)`, "1")
			b.Is(t, "points of the rate, of four events each", `String(document.querySelector(".rate polyline").points.length)`, "5")
			b.Quiet(t)
			if dir := os.Getenv("EVBENCH_SCREENSHOTS"); dir != "" {
				picture, err := chromedp.Run(b.Ctx, chromedp.FullScreenshot(100))
				if err == nil {
					err = os.WriteFile(filepath.Join(dir, fmt.Sprintf("live-%d-%s.png", tt.width, tt.face)), picture, 0o600)
				}
				expect.OK(t, err)
			}
		})
	}
}
