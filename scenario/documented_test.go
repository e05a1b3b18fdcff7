package scenario

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"evbench/builder"
	"evbench/builder/load"
	"evbench/testing/expect"
)

func page(t *testing.T, name string) string {
	t.Helper()
	text := expect.Value(os.ReadFile("../docs/" + name))(t)
	return string(text)
}

var (
	section = regexp.MustCompile(`(?m)^##+ (.*)$`)
	entries = regexp.MustCompile("(?m)^- (`[^:]*`): (.*(?:\n  .*)*)")
	quoted1 = regexp.MustCompile("`([^`]+)`")
	limits  = regexp.MustCompile(`\d\w*(?:\.\.| to )\d[\w.]*\b`)
)

// documentedFields returns what the reference says of each field. Those of cases and of
// fail-over have their section before their name.
func documentedFields(t *testing.T) map[string]string {
	t.Helper()
	text, out := page(t, "reference/scenario.md"), map[string]string{}
	heads := section.FindAllStringSubmatchIndex(text, -1)
	for i, h := range heads {
		end := len(text)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		prefix := map[string]string{"Cases": "cases.", "Fail-over": "failover."}[text[h[2]:h[3]]]
		for _, e := range entries.FindAllStringSubmatch(text[h[1]:end], -1) {
			for _, name := range quoted1.FindAllStringSubmatch(e[1], -1) {
				out[prefix+name[1]] = e[2]
			}
		}
	}
	for name := range out {
		if strings.HasPrefix(name, "{") { // an entry of failures
			delete(out, name)
		}
	}
	return out
}

// The reference has the fields that there are, with their words and limits.
func TestFieldsAreDocumented(t *testing.T) {
	rows := map[string]row{}
	for prefix, g := range map[string]group{
		"": topFields(&top{Scenario: &Scenario{}}), "fabric.": fabricFields(&Fabric{}), "fabric.lossless.": losslessFields(&Lossless{}), "event.": eventFields(&Event{}),
		"event.sizes.": sizesFields(&sizesOf{servers: maxServers, by: builder.Bys()}), "launch.": launchFields(&Launch{}), "sim.": simFields(&Sim{}),
		"failover.": failoverFields(&Failover{}), "load.": loadFields(&load.Load{}, new(string), new(string)), "cases.": caseFields(&Case{}, new(uint64), maxServers, nil),
	} {
		for _, r := range g {
			rows[prefix+r.name] = r
		}
	}
	delete(rows, "fabric") // documented field by field
	delete(rows, "event")
	said := documentedFields(t)
	got, want := slices.Sorted(maps.Keys(said)), slices.Sorted(maps.Keys(rows))
	expect.True(t, slices.Equal(got, want), "the reference has %q, there are %q", got, want)
	for name, r := range rows {
		if r.set == nil {
			continue
		}
		refused := fmt.Sprint(r.set("1000000000000"), r.set("1000000h"), r.set("1000GiB"))
		for _, limit := range limits.FindAllString(said[name], -1) {
			expect.True(t, strings.Contains(refused, limit), "%s: the reference says %q, the reader %q", name, limit, refused)
		}
		words, _ := r.shape["enum"].([]string)
		for _, w := range words {
			expect.False(t, !strings.Contains(said[name], "routing.md") && modeAlias[w] == "" && !strings.Contains(said[name], "`"+w+"`"),
				"%s: the reference does not have %q", name, w)
		}
	}
}

// Fields of what is written in braces, and of other pages.
func TestOtherFieldsAreDocumented(t *testing.T) {
	const reference = "reference/scenario.md"
	for _, tt := range []struct {
		fields              group
		page, before, after string
	}{
		{injectFields(&Inject{}), "do/failures.md", "`", "`"},
		{answerFields, reference, "{", ":"},
		{matrixFields(&Case{}, nil, maxServers, nil), reference, "(?s)`matrix` takes[^.]*`", "`"},
		{slices.Concat(timedFields(&Timed{}), randomFailure), reference, "[{ ]", ":"},
		{randomFields(nil, nil, 2), reference, "[{ ]", ":"},
	} {
		text := page(t, tt.page)
		for _, name := range tt.fields.names() {
			expect.True(t, regexp.MustCompile(tt.before+name+tt.after).MatchString(text), "%s is not in %s", name, tt.page)
		}
	}
}
