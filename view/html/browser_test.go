package html_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"evbench/testing/browsertest"
	"evbench/testing/expect"
	"evbench/view/figure"
	"evbench/view/html"
	"evbench/view/parts"
)

func TestMain(m *testing.M) { os.Exit(browsertest.Main(m)) }

// open opens a page in a browser.
func open(t *testing.T, text string) *browsertest.Browser {
	t.Helper()
	file := filepath.Join(t.TempDir(), "report.html")
	expect.Must(t, os.WriteFile(file, []byte(text), 0o600))
	return browsertest.Open(t, "file://"+file)
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
	b := open(t, write(t, input(Small(t))))
	b.Is(t, "at first", firstCases, "healthy,one dead,unsync")
	const column = `#verdict thead th:nth-child(9)` // measured efficiency
	b.Do(t, chromedp.Click(column+" button"))
	b.Is(t, "after a click", firstCases, "one dead,healthy,unsync")
	b.Is(t, "and the head", `document.querySelector("`+column+`").getAttribute("aria-sort")`, "ascending")
	b.Do(t, chromedp.Focus(column+" button"), chromedp.KeyEvent(kb.Enter))
	b.Is(t, "after Enter", firstCases, "healthy,unsync,one dead")
	b.Is(t, "and the head", `document.querySelector("`+column+`").getAttribute("aria-sort")`, "descending")
	b.Do(t, chromedp.Focus(`#verdict thead th:nth-child(1) button`), chromedp.KeyEvent(" "))
	b.Is(t, "by name, after the space bar", firstCases, "healthy,one dead,unsync")
	b.Is(t, "and the head before", `String(document.querySelector("`+column+`").getAttribute("aria-sort"))`, "null")
	b.Quiet(t)
}

func TestBrowserSlider(t *testing.T) {
	b := open(t, write(t, input(Small(t))))
	b.Is(t, "the case shown first", shown+`.dataset.title`, "one dead")
	whole := b.Text(t, steps)
	const label = shown + `.querySelector("output.phase").textContent`
	b.Do(t, chromedp.Focus(slider), chromedp.KeyEvent(kb.ArrowRight))
	b.Is(t, "label", label, "phase 1 of 5, at most 1")
	first := b.Text(t, steps)
	expect.True(t, first != whole, "phase 1 and the whole exchange are both drawn as %s", first)
	b.Do(t, chromedp.KeyEvent(kb.End))
	b.Is(t, "label at the end", label+`.slice(0, 12)`, "phase 5 of 5")
	b.Do(t, chromedp.Click(`.tree:not(.off) .next`))
	b.Is(t, "the next phase with a shared link", label, "phase 2 of 5, at most 2")
	second := b.Text(t, steps)
	expect.True(t, second != first && strings.Contains(second, "l2"), "phase 2 is drawn as %s, phase 1 as %s", second, first)
	b.Do(t, chromedp.Focus(slider), chromedp.KeyEvent(kb.Home))
	b.Is(t, "back at the whole exchange", steps, whole)
	b.Quiet(t)
}

// Every load that the page unpacks is the one that the plan has.
func TestBrowserUnpacks(t *testing.T) {
	s := Small(t)
	b := open(t, write(t, input(s)))
	loads := parts.Trees(s.Run, s.Plans)[1].Loads
	for phase := range loads.Phases {
		var want []string
		for w, n := range loads.Phase(phase) {
			if link := parts.Trees(s.Run, s.Plans)[1].Tree; link.Alive(w/2/link.Spines(), w/2%link.Spines()) {
				want = append(want, fmt.Sprintf("l%d", n))
			}
		}
		b.Do(t, chromedp.Focus(slider), chromedp.KeyEvent(kb.ArrowRight))
		b.Is(t, fmt.Sprintf("phase %d", phase+1), steps, strings.Join(want, ""))
	}
	b.Quiet(t)
}

// Figures of links are read with the pointer and with the keyboard alone.
func TestBrowserReadsLinks(t *testing.T) {
	b := open(t, write(t, input(Small(t))))
	const readout = shown + `.querySelector(".readout").textContent`
	b.Do(t, chromedp.Focus(`.tree:not(.off) .tree-svg`), chromedp.KeyEvent(kb.ArrowRight))
	b.Is(t, "the first link", readout, "leaf0-spine0: dead")
	b.Do(t, chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.ArrowRight))
	b.Is(t, "one leaf and one spine on", readout+`.slice(0, 12)`, "leaf1-spine1")
	b.Is(t, "pointing", `String([...`+shown+`.querySelectorAll(".k")].find(k => k.textContent.startsWith("leaf2-spine0")).dispatchEvent(new PointerEvent("pointerenter")))`, "true")
	b.Is(t, "under the pointer", readout+`.slice(0, 12)`, "leaf2-spine0")
	b.Do(t, chromedp.Focus(slider), chromedp.KeyEvent(kb.ArrowRight))
	b.Is(t, "in a phase", readout+`.slice(0, 25)`, "leaf2-spine0, phase 1: up")
	b.Do(t, chromedp.Click(`.picker button:nth-child(3)`))
	b.Is(t, "another case", shown+`.dataset.title`, "unsync")
	b.Quiet(t)
}

// Nothing sticks out of the page at the width of a laptop, in light and in dark,
// and the print has every case.
func TestBrowserLayout(t *testing.T) {
	b := open(t, write(t, html.Input{Name: "ten", Source: Ten(t)}))
	for _, name := range []string{"light", "dark", "print"} {
		t.Run(name, func(t *testing.T) {
			media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}}
			if name == "print" {
				media = emulation.SetEmulatedMediaParams{Media: name}
			}
			browsertest.Call(t, b.Ctx, emulation.SetEmulatedMedia, media)
			b.Is(t, "too wide", `String(Math.max(0, document.documentElement.scrollWidth - innerWidth))`, "0")
			visible := map[string]string{"light": "1", "dark": "1", "print": "10"}[name]
			b.Is(t, "trees to be seen", `String([...document.querySelectorAll(".tree")].filter(e => e.getClientRects().length).length)`, visible)
			dark := `String(getComputedStyle(document.body).backgroundColor !== "rgb(255, 255, 255)" && parseInt(getComputedStyle(document.body).backgroundColor.slice(4)) < 64)`
			b.Is(t, "dark", dark, fmt.Sprint(name == "dark"))
			b.Quiet(t)
		})
	}
}

// A filter leaves the rows and the drawings of cases that have all words, and sorting puts the
// drawings into the order of the table.
func TestBrowserFilters(t *testing.T) {
	b := open(t, write(t, input(Small(t))))
	const rows = `[...document.querySelectorAll("#cases tbody tr")].filter(e => e.getClientRects().length).map(e => e.querySelector("th").textContent).join()`
	const drawn = `[...document.querySelectorAll("#servers .small")].filter(e => e.getClientRects().length).map(e => e.querySelector("figcaption").firstChild.textContent.trim()).join()`
	b.Is(t, "drawn", drawn, "healthy,one dead,unsync")
	b.Do(t, chromedp.Focus("#filter"), chromedp.KeyEvent("shift valid"))
	b.Is(t, "rows of a filter", rows, "healthy,one dead")
	b.Is(t, "drawn of a filter", drawn, "healthy,one dead")
	b.Is(t, "said", `document.querySelector(".filter output").textContent.slice(0, 12)`, "2 of 3 cases")
	b.Do(t, chromedp.KeyEvent(" dead"))
	b.Is(t, "the tree of a filter", `[...document.querySelectorAll(".picker button")].filter(e => e.getClientRects().length).map(e => e.textContent).join()+"|"+`+shown+`.dataset.title`, "one dead|one dead")
	b.Is(t, "filter gone", `(() => { const f = document.querySelector("#filter"); f.value = ""; f.dispatchEvent(new Event("input")); return `+rows+` })()`, "healthy,one dead,unsync")
	b.Do(t, chromedp.Click(`#verdict thead th:nth-child(1) button`), chromedp.Click(`#verdict thead th:nth-child(1) button`))
	b.Is(t, "drawn, sorted", drawn, "unsync,one dead,healthy")
	b.Quiet(t)
}

// What is under the pointer stands below the drawings, of a map of many servers, too.
func TestBrowserTells(t *testing.T) {
	b := open(t, write(t, input(Ten(t))))
	const at = `(selector, x, y) => { const e = document.querySelector(selector), r = e.getBoundingClientRect(); ` +
		`e.dispatchEvent(new PointerEvent("pointermove", {bubbles: true, clientX: r.left + x * r.width, clientY: r.top + y * r.height})); ` +
		`return e.closest(".ofrun").querySelector(".panels + .readout").textContent }`
	b.Is(t, "a server", `(`+at+`)("#servers .tips rect:nth-child(4)", .5, .5).replace(/: .*/, "")`, b.Text(t, `document.querySelector("#servers figcaption").firstChild.textContent.trim()`)+", server 3")
	b.Is(t, "a pair", `(`+at+`)("#pairs .tips .cells", 0.999, 0.001).replace(/.*, server/, "server").replace(/: .*/, "")`, "server 0 to 63")
	b.Is(t, "none", `(`+at+`)("#pairs .tips .cells", 0.001, 0.001).replace(/.*, server/, "server")`, "server 0 to 0: none")
	b.Is(t, "its title", `document.querySelector("#pairs .tips .cells title").textContent`, "server 0 to 0: none")
	b.Is(t, "drawings without texts", `[...document.querySelectorAll(".drawing")].filter(e => !e.querySelector(".tips title")).map(e => e.closest("section").id).join()`, "")
	b.Is(t, "figures without words", `[...document.querySelectorAll("figure:not(.tree)")].filter(e => !e.querySelector(".says")).map(e => e.closest("section").id).join()`, "")
	b.Quiet(t)
}

// On the screen of a phone nothing sticks out but what can be scrolled, and no text of a
// drawing is smaller than can be read.
func TestBrowserNarrow(t *testing.T) {
	for name, source := range map[string]func(testing.TB) figure.Source{"noisy": Noisy, "fail-over": FailedOver, "LHCb": Large} {
		t.Run(name, func(t *testing.T) {
			one := html.Input{Name: "results/made-up", Source: source(t)}
			two := html.Input{Name: "results/made-up-in-virtual-time", Source: simulated(source(t))}
			runs := []html.Input{one, two}
			if name == "LHCb" { // what a second run adds does not depend on the size
				runs = runs[:1]
			}
			b := open(t, write(t, runs...))
			browsertest.Call(t, b.Ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: 420, Height: 900, DeviceScaleFactor: 1})
			b.Is(t, "too wide", `String(Math.max(0, document.documentElement.scrollWidth - 420))`, "0")
			b.Is(t, "sticking out", `[...document.querySelectorAll("main *, header *")].filter(e => e.getBoundingClientRect().right > 421 && !e.closest(".scroll, .across, .drawing, nav")).map(e => e.outerHTML.slice(0, 80)).join()`, "")
			b.Is(t, "texts too small", `[...document.querySelectorAll("svg text")].filter(e => e.getClientRects().length && parseFloat(getComputedStyle(e).fontSize) * Math.hypot(e.getScreenCTM().a, e.getScreenCTM().b) < 8).map(e => e.textContent).join()`, "")
			b.Quiet(t)
		})
	}
}

// Without its script the page says the same, and shows no dead control.
func TestBrowserWithoutScript(t *testing.T) {
	text, _, _ := strings.Cut(write(t, input(Small(t))), "<script>")
	b := open(t, text)
	b.Is(t, "trees", `String([...document.querySelectorAll(".tree")].filter(e => e.getClientRects().length).length)`, "3")
	b.Is(t, "sliders", `String([...document.querySelectorAll("input, button")].filter(e => e.getClientRects().length).length)`, "0")
	b.Quiet(t)
}

// The page prints.
func TestBrowserPrints(t *testing.T) {
	b := open(t, write(t, input(Small(t))))
	pdf := expect.Value(chromedp.Run(b.Ctx, chromedp.PrintToPDF()))(t)
	expect.True(t, strings.HasPrefix(string(pdf), "%PDF"), "no PDF but %.20q", pdf)
}
