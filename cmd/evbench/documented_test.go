package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"evbench/cmd/shards"
	"evbench/internal/cmdline"
	"evbench/site/hdf5"
	"evbench/testing/expect"
)

// documentedLog names the variable that makes the program what a document calls, and
// holds the file that its calls are written to.
const documentedLog = "EVBENCH_TEST_DOCUMENTED"

// documented is the program as documents call it. A command that is done in a moment is
// done, and a run plans its cases. Of others the arguments are parsed by the command's
// own parser, and the files that they name have to be there.
func documented(args []string, log string) int {
	app := newApp(os.Stdout, os.Stderr)
	how := "ran"
	switch {
	case len(args) > 1 && args[1] == "run":
		args = append(args, "--dry-run")
	case !isShort(args[1:]):
		how = "parsed"
		parseOnly(app.Commands)
	}
	ctx := context.Background()
	app.Metadata[shards.Args] = args[1:]
	args, err := cmdline.FlagsFirst(app, args)
	if err == nil {
		err = app.RunContext(ctx, args)
	}
	code := exitCode(nil, err, os.Stderr)
	f, err := os.OpenFile(log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = fmt.Fprintf(f, "%s %d %q\n", how, code, args[1:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitFailed
	}
	return code
}

// lengthy begin commands that measure or need what only a run has, wait for somebody,
// change this machine, or count for a second or longer.
var lengthy = []string{
	"accuracy", "controller", "worker", "lab", "mpi wrap", "failures restore", "routes follow", "routes jobs --follow", "routes undo",
	"why", "trace", "sim --log", "sim scenarios/lhcb", "sim --model phase scenarios/lhcb", "sim --model credit", "sim --duration 20s scenarios/sizes", "whatif -t FT(2;8,8) --k 2", "whatif -t FT(2;20,18)",
	"watch --once --share", "routes compute -t Jellyfish(40;6;6;1)", "plan -t HyperX(6,6;4) -e sssp --time",
}

// isShort reports whether a command is done in a moment, and writes below the working
// directory only.
func isShort(args []string) bool {
	line := strings.Join(args, " ")
	switch {
	case slices.ContainsFunc(lengthy, func(s string) bool { return strings.HasPrefix(line, s) }):
		return false
	case slices.ContainsFunc(args, filepath.IsAbs):
		return false
	}
	return hdf5.Built || args[0] != "results"
}

// parseOnly has commands do no more than to look at their arguments.
func parseOnly(commands []*cli.Command) {
	for _, c := range commands {
		if parseOnly(c.Subcommands); len(c.Subcommands) == 0 {
			c.Action = lookAtArguments
		}
	}
}

func lookAtArguments(c *cli.Context) error {
	files := c.StringSlice("log")
	for _, name := range c.Args().Slice() {
		if filepath.Ext(name) == ".yaml" {
			if _, err := readScenario(name); err != nil {
				return usage(err)
			}
		} else if strings.HasPrefix(name, resultsRoot+"/") {
			files = append(files, name)
		}
	}
	for _, name := range files {
		if _, err := os.Stat(name); err != nil {
			return usage(err)
		}
	}
	return nil
}

// What is parsed only is still refused when it is wrong.
func TestDocumented(t *testing.T) {
	scenarios := expect.Value(filepath.Abs("../../scenarios"))(t)
	t.Chdir(filepath.Dir(scenarios))
	for _, tt := range []struct {
		args string
		code int
		how  string
	}{
		{"accuracy scenarios/accuracy.yaml", exitDone, "parsed"},
		{"accuracy scenarios/absent.yaml", exitUsage, "parsed"},
		{"accuracy runs/absent", exitUsage, "parsed"},
		{"accuracy --magic scenarios/accuracy.yaml", exitUsage, "parsed"},
		{"lab up -t FT(2;4,4) --down", exitUsage, "parsed"},
		{"sim --log absent.log", exitUsage, "parsed"},
		{"run scenarios/absent.yaml", exitUsage, "ran"},
		{"verify absent.txt", exitUsage, "ran"},
		{"plan -t FT(2;2,2) -o /absent/plan.txt", exitDone, "parsed"},
	} {
		log := filepath.Join(t.TempDir(), "log")
		expect.Equal(t, documented(append([]string{"evbench"}, strings.Fields(tt.args)...), log), tt.code, "%s: ended with", tt.args)
		b, err := os.ReadFile(log)
		expect.True(t, err == nil && strings.HasPrefix(string(b), fmt.Sprintf("%s %d ", tt.how, tt.code)), "%s: logged %s, %v", tt.args, b, err)
	}
}

var (
	docLink    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	docHeading = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	docBlock   = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	docPath    = regexp.MustCompile(`\bdocs/[a-z0-9/-]*\.(?:md|svg|png|html)\b`)
)

// Every relative link of a document leads to a file that is there, and to a heading of it.
func TestDocsLinks(t *testing.T) {
	root := os.DirFS("../..")
	for _, file := range append(documents(t), "CHANGELOG.md") {
		text := expect.Value(fs.ReadFile(root, file))(t)
		for _, m := range docLink.FindAllStringSubmatch(docBlock.ReplaceAllString(string(text), ""), -1) {
			expect.OK(t, checkLink(root, file, m[1]), "%s", file)
		}
	}
}

// checkLink follows a link of a file. Links to other sites are not followed.
func checkLink(root fs.FS, file, link string) error {
	if strings.Contains(link, "://") {
		return nil
	}
	target, anchor, _ := strings.Cut(link, "#")
	if target = path.Join(path.Dir(file), target); strings.HasPrefix(link, "#") {
		target = file
	}
	text, err := fs.ReadFile(root, target)
	if err != nil {
		return fmt.Errorf("link %s: %w", link, err)
	}
	if anchor != "" && !slices.Contains(anchors(string(text)), anchor) {
		return fmt.Errorf("link %s: %s has no such heading", link, target)
	}
	return nil
}

// anchors returns the names by which the headings of a page are linked to.
func anchors(text string) (names []string) {
	for _, m := range docHeading.FindAllStringSubmatch(docBlock.ReplaceAllString(text, ""), -1) {
		name := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_':
				return unicode.ToLower(r)
			}
			return -1
		}, m[1])
		names = append(names, name)
	}
	return names
}

// wayRow is a row of a table of the architecture: packages, and functions that a fragment or a dead link passes.
var wayRow = regexp.MustCompile("(?m)^(`[a-z/`, ]+) \\| (.*`(?:\\(\\*\\w+\\)\\.)?\\w+`.*)$")

// Every function of the two ways is in one of the packages of its row, and as many are named as the page says.
func TestDocsWays(t *testing.T) {
	page := string(expect.Value(os.ReadFile("../../docs/architecture.md"))(t))
	for _, way := range strings.Split(page, "**The way of ")[1:] {
		var want, packages int
		expect.Must(t, expect.Err(fmt.Sscanf(regexp.MustCompile(`\d+ functions in \d+ packages`).FindString(way), "%d functions in %d packages", &want, &packages)))
		way, _, _ = strings.Cut(way, "\n## ")
		named, in := map[string]bool{}, map[string]bool{}
		for _, row := range wayRow.FindAllStringSubmatch(way, -1) {
			var source strings.Builder
			for _, m := range docSpan.FindAllStringSubmatch(row[1], -1) {
				in[m[1]] = true
				for _, file := range expect.Value(filepath.Glob("../../" + m[1] + "/*.go"))(t) {
					source.Write(expect.Value(os.ReadFile(file))(t))
				}
			}
			for _, m := range docSpan.FindAllStringSubmatch(row[2], -1) {
				receiver, name, method := strings.Cut(strings.TrimPrefix(m[1], "(*"), ").")
				declared := `(?m)^func ` + m[1] + `\(`
				if method {
					declared = `(?m)^func \(\w+ \*` + receiver + `\) ` + name + `\(`
				}
				named[m[1]] = true
				expect.True(t, regexp.MustCompile(declared).MatchString(source.String()), "%s is not in %s", m[1], row[1])
			}
		}
		expect.True(t, len(named) == want && len(in) == packages, "%d functions in %d packages, not %d in %d", len(named), len(in), want, packages)
	}
}

func TestCheckLink(t *testing.T) {
	root := os.DirFS("testdata/links")
	for _, tt := range []struct{ link, want string }{
		{"https://example.org/#no", ""},
		{"#two-words-and-code", ""},
		{"b/other.md", ""},
		{"b/other.md#here", ""},
		{"b/other.md#not-a-heading", "link b/other.md#not-a-heading: b/other.md has no such heading"},
		{"absent.md", "link absent.md: open absent.md: no such file or directory"},
		{"#absent", "link #absent: page.md has no such heading"},
	} {
		got := ""
		if err := checkLink(root, "page.md", tt.link); err != nil {
			got = err.Error()
		}
		expect.Equal(t, got, tt.want, "%s", tt.link)
	}
}

// Pages that programs, scripts and scenarios name are there.
func TestDocsNamed(t *testing.T) {
	named := 0
	err := filepath.WalkDir("../..", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{".git", ".cache", "bin"}, d.Name()):
			return filepath.SkipDir
		case !slices.Contains([]string{".go", ".yaml", ".txtar", ""}, filepath.Ext(name)) || !d.Type().IsRegular():
			return nil
		}
		text, err := os.ReadFile(name)
		for _, page := range docPath.FindAllString(string(text), -1) {
			named++
			expect.OK(t, expect.Err(os.Stat(filepath.Join("../..", page))), "%s names %s", name, page)
		}
		return err
	})
	expect.True(t, err == nil && named >= 10, "%d pages named, %v", named, err)
}

// completions returns what the program prints for a shell after these words.
func completions(t *testing.T, words ...string) []string {
	t.Helper()
	old := os.Args
	defer func() { os.Args = old }()
	os.Args = slices.Concat([]string{"evbench"}, words, []string{"--generate-bash-completion"})
	var out bytes.Buffer
	expect.Equal(t, run(t.Context(), os.Args, &out, io.Discard), exitDone, "%v: exit code", words)
	return strings.Fields(out.String())
}

// A shell gives the last word only where it begins with -.
func TestCompletions(t *testing.T) {
	for words, want := range map[string]string{
		"--":                            "",
		"-":                             "--version --help -h",
		"lab":                           "doctor up exec down",
		"help lab":                      "doctor up exec down",
		"help run":                      "",
		"run":                           "",
		"run --ex":                      "--example",
		"run --repe":                    "",
		"run --example quickstart --dr": "--dry-run",
		"run scenario.yaml --dr":        "--dry-run",
		"run --dry-run scenario.yaml":   "",
		"run -- --":                     "",
		"examples quickstart":           "",
		"plan -t":                       "",
		"completion":                    "bash zsh fish",
		"schema":                        "scenario summary",
		"plot throughput":               "",
		"lab exec leaf0 -- touch left":  "",
		"lab exec leaf0 touch left":     "",
		"lab up --help --sp":            "--spines",
	} {
		expect.Equal(t, strings.Join(completions(t, strings.Fields(words)...), " "), want, "%q", words)
	}
	for words, one := range map[string]string{
		"": "completion", "examples": "quickstart", "run --example": "ft8x8", "plan -s": "xor", "plan -r": "spray",
		"routes compute --engine": "dfsssp", "plot": "timeline", "run --fabric": "lab",
	} {
		got := completions(t, strings.Fields(words)...)
		expect.True(t, slices.Contains(got, one), "%q: %q, without %s", words, got, one)
	}
}

// Every command that is not hidden is completed and in the manual, and so are its flags.
func TestCommandsAreCompletedAndInTheManual(t *testing.T) {
	template := cli.MarkdownDocTemplate
	defer func() { cli.MarkdownDocTemplate = template }()
	var page bytes.Buffer
	code := run(t.Context(), []string{"evbench", "man"}, &page, io.Discard)
	expect.MustTrue(t, code == exitDone, "exit code %d", code)
	manual := strings.ReplaceAll(page.String(), `\`, "")
	var walk func(before []string, commands []*cli.Command)
	walk = func(before []string, commands []*cli.Command) {
		for _, c := range commands {
			at := append(slices.Clone(before), c.Name)
			called := "evbench " + strings.Join(at, " ")
			expect.True(t, slices.Contains(completions(t, before...), c.Name) != c.Hidden, "completed: %s, hidden %v", called, c.Hidden)
			expect.True(t, strings.Contains(manual, "\n"+called) != c.Hidden, "in the manual: %s, hidden %v", called, c.Hidden)
			walk(at, c.Subcommands)
			var flags []string
			for _, f := range c.VisibleFlags() {
				flags = append(flags, strings.Repeat("-", min(2, len(f.Names()[0])))+f.Names()[0])
			}
			for _, name := range flags {
				begun := name[:len(name)-1]
				if slices.Contains(flags, begun) { // whose value would be completed
					begun = begun[:len(begun)-1]
				}
				got := completions(t, append(slices.Clone(at), begun)...)
				expect.True(t, slices.Contains(got, name), "%s %s is not completed: %v", called, name, got)
				expect.False(t, !c.Hidden && !strings.Contains(manual, name), "%s %s is not in the manual", called, name)
			}
		}
	}
	walk(nil, newApp(io.Discard, io.Discard).Commands)
}

// No line of help is longer than a terminal that is 100 columns wide.
func TestHelpLines(t *testing.T) {
	pages := append([]string{""}, leaves("", newApp(io.Discard, io.Discard).Commands)...)
	pages = append(pages, "routes", "lab", "topo", "failures", "results")
	for _, page := range pages {
		var out, said bytes.Buffer
		args := append(append([]string{"evbench"}, strings.Fields(page)...), "--help")
		code := run(t.Context(), args, &out, &said)
		expect.True(t, code == exitDone && out.Len() != 0, "%s: exit %d, %s", page, code, said.String())
		for line := range strings.Lines(out.String()) {
			n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n"))
			expect.True(t, n <= 100, "evbench %s: %d columns: %s", page, n, line)
		}
	}
}

// Every exit code of the program is in the table.
func TestExitCodesPage(t *testing.T) {
	page := expect.Value(os.ReadFile("../../docs/reference/files.md"))(t)
	for _, x := range exitCodes {
		expect.True(t, strings.Contains(string(page), fmt.Sprintf("\n%d | ", x.code)), "%d is not in the table", x.code)
	}
}
