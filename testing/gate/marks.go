package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"evbench/internal/proc"
)

// The marks that a test has in its comment, as //gate:race, and a script of testdata/script in its first lines, as # gate:race.
const (
	race      = "race"      // it is the one that meets the race detector, of a package that has more that only count or wait
	libraries = "libraries" // it does something else in a command that is built with the libraries
	mpich     = "mpich"     // it runs with MPICH, too; words behind a mark are the beginnings of the subtests that do
	debian13  = "debian13"  // it runs on Debian 13, too, where packages have tests that do not
	weekly13  = "weekly13"  // it does once a week
)

var marks = []string{race, libraries, mpich, debian13, weekly13}

// A test is a function of a package, or a script, which is a subtest of TestScript.
type test struct {
	name   string // TestX, or TestScript/x
	tagged bool   // it is there only with the libraries
	marks  map[string]string
}

// A pkg is a package of ours with tests, or that is looked at.
type pkg struct {
	path   string // evbench/plan
	meets  bool   // goroutines meet in it
	others bool   // it has other files with the libraries
	tests  []test
}

// A listed is what go list says of a package.
type listed struct {
	ImportPath, Dir                              string
	GoFiles, CgoFiles, TestGoFiles, XTestGoFiles []string
	Imports, TestImports, XTestImports           []string
}

// list asks Go for all packages of this folder, as they are with tags.
func list(ctx context.Context, goTool, tags string) (all []listed, err error) {
	args := []string{"list", "-json=ImportPath,Dir,GoFiles,CgoFiles,TestGoFiles,XTestGoFiles,Imports,TestImports,XTestImports", "-tags", tags, "./..."}
	out, err := proc.Call{Limit: 5 * time.Minute, Most: 64 << 20}.Answer(ctx, goTool, args...)
	if err != nil {
		return nil, err
	}
	for in := json.NewDecoder(bytes.NewReader(out)); in.More(); {
		var l listed
		if err := in.Decode(&l); err != nil {
			return nil, err
		}
		all = append(all, l)
	}
	return all, nil
}

// packages reads the marks of all packages; those without tags may have fewer files.
func packages(plain, tagged []listed) (all []pkg, err error) {
	before := map[string]listed{}
	for _, l := range plain {
		before[l.ImportPath] = l
	}
	for _, l := range tagged {
		was := before[l.ImportPath]
		p := pkg{path: l.ImportPath, others: was.ImportPath == "" || fmt.Sprint(was.GoFiles, was.CgoFiles, was.TestGoFiles, was.XTestGoFiles) != fmt.Sprint(l.GoFiles, l.CgoFiles, l.TestGoFiles, l.XTestGoFiles)}
		if err := p.read(l); err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// Goroutines meet where a package starts some, or lends work or state to those of others; what is made once (sync.OnceValue) is
// neither. Elsewhere the race detector finds nothing, and takes ten times as long. Other tests may ask a package about goroutines too.
var (
	starts = regexp.MustCompile(`\bgo (?:func\b|[\w.]+\()|\.Go\(|\b(?:parallel|disktest)\.Each\(|synctest\.`)
	shares = regexp.MustCompile(`\b(?:sync|atomic)\.([A-Z]\w*)`)
)

func (p *pkg) read(l listed) error {
	files, err := filepath.Glob(filepath.Join(l.Dir, "*.go")) // those for other systems, too
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		p.meets = p.meets || starts.Match(text)
		if !strings.HasSuffix(file, "_test.go") {
			for _, m := range shares.FindAllSubmatch(text, -1) {
				p.meets = p.meets || !bytes.HasPrefix(m[1], []byte("Once"))
			}
		} else if err := p.readTests(file, text); err != nil {
			return err
		}
	}
	scripts, err := filepath.Glob(filepath.Join(l.Dir, "testdata/script/*.txtar"))
	if err != nil {
		return err
	}
	for _, file := range scripts {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		t := test{name: "TestScript/" + strings.TrimSuffix(filepath.Base(file), ".txtar"), marks: map[string]string{}}
		for line := range strings.Lines(string(text)) {
			said, is := strings.CutPrefix(line, "# gate:")
			if !is {
				break
			}
			if err := t.mark(said, file); err != nil {
				return err
			}
		}
		p.tests = append(p.tests, t)
	}
	if scripts != nil {
		p.tests = slices.DeleteFunc(p.tests, func(t test) bool { return t.name == "TestScript" }) // it is its scripts
	}
	return nil
}

// mark takes what stands behind gate: in a comment.
func (t *test) mark(said, file string) error {
	name, words, _ := strings.Cut(strings.TrimSpace(said), " ")
	if !slices.Contains(marks, name) {
		return fmt.Errorf("%s: %s: no mark is called %s: there are %s", file, t.name, name, strings.Join(marks, ", "))
	}
	t.marks[name] = words
	return nil
}

// isTest tells the functions that go test runs.
var isTest = regexp.MustCompile(`^(?:Test|Fuzz|Example)(?:[^a-z]|$)`)

func (p *pkg) readTests(file string, text []byte) error {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	tagged := false
	for _, group := range parsed.Comments {
		for _, c := range group.List {
			if c.Pos() > parsed.Package || !constraint.IsGoBuild(c.Text) {
				continue
			}
			expr, err := constraint.Parse(c.Text)
			if err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			tagged = !expr.Eval(func(tag string) bool { return !slices.Contains(tags, tag) })
		}
	}
	for _, d := range parsed.Decls {
		f, is := d.(*ast.FuncDecl)
		if !is || f.Recv != nil || f.Name.Name == "TestMain" || !isTest.MatchString(f.Name.Name) {
			continue
		}
		t := test{name: f.Name.Name, tagged: tagged, marks: map[string]string{}}
		for _, c := range comments(f.Doc) {
			if said, is := strings.CutPrefix(c.Text, "//gate:"); is {
				if err := t.mark(said, file); err != nil {
					return err
				}
			}
		}
		p.tests = append(p.tests, t)
	}
	return nil
}

func comments(group *ast.CommentGroup) []*ast.Comment {
	if group == nil {
		return nil
	}
	return group.List
}

// names returns a pattern for go test -run or -skip of the tests that want wants; "" if there are none. Of a mark with words it is
// that of the subtests that begin with one of them.
func (p pkg) names(mark string, wants func(t test) bool) string {
	var whole, scripts, more []string
	for _, t := range p.tests {
		if !wants(t) {
			continue
		}
		script, is := strings.CutPrefix(t.name, "TestScript/")
		switch words := t.marks[mark]; {
		case is:
			scripts = append(scripts, script)
		case words != "":
			more = append(more, "^"+t.name+"$/^("+strings.Join(strings.Fields(words), "|")+")")
		default:
			whole = append(whole, t.name)
		}
	}
	if whole != nil {
		more = slices.Insert(more, 0, "^("+strings.Join(whole, "|")+")$")
	}
	if scripts != nil {
		more = append(more, "^TestScript$/^("+strings.Join(scripts, "|")+")$")
	}
	return strings.Join(more, "|")
}

// has reports whether some test of the package has a mark.
func (p pkg) has(mark string) bool { return slices.ContainsFunc(p.tests, marked(mark)) }

// marked tells tests with a mark.
func marked(mark string) func(test) bool {
	return func(t test) bool {
		_, is := t.marks[mark]
		return is
	}
}
