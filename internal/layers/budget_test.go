package layers_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evbench/testing/expect"
)

// mostLines is the longest that a function may be: what is longer hides a part that wants a name.
const mostLines = 60

// TestBudgets holds the lines of Go without tests of each ring and the exported names, methods too, of each folder to the numbers in rings.txt. Whoever needs more
// raises the number in the same commit, and says there why.
func TestBudgets(t *testing.T) {
	h := folders(t)
	rings, tops := map[string]int{}, map[string]int{}
	sources(t, func(file string, text []byte, parsed *ast.File, _ *token.FileSet) {
		top, _, _ := strings.Cut(file, "/")
		rings[h.ring[top]] += bytes.Count(text, []byte("\n"))
		if parsed.Name.Name != "main" {
			tops[top] += exported(parsed)
		}
	})
	for ring, most := range h.lines {
		expect.True(t, rings[ring] <= most, "the ring %s has %d lines of Go, its budget in rings.txt is %d: make it smaller, or raise the budget in this commit and say why", ring, rings[ring], most)
	}
	for folder, most := range h.names {
		expect.True(t, tops[folder] <= most, "%s exports %d names, its budget in rings.txt is %d: export less, or raise the budget in this commit and say why", folder, tops[folder], most)
	}
}

// TestFunctionsAreShort names functions that are not.
func TestFunctionsAreShort(t *testing.T) {
	sources(t, func(file string, _ []byte, parsed *ast.File, at *token.FileSet) {
		for _, d := range parsed.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			n := at.Position(f.End()).Line - at.Position(f.Pos()).Line + 1
			expect.True(t, n <= mostLines, "%s %s has %d lines, at most %d are read at once", file, f.Name.Name, n, mostLines)
		}
	})
}

// sources visits the Go files without tests of both modules.
func sources(t *testing.T, visit func(file string, text []byte, parsed *ast.File, at *token.FileSet)) {
	t.Helper()
	goFiles(t, false, visit)
}

// goFiles visits the Go files of both modules.
func goFiles(t *testing.T, tests bool, visit func(file string, text []byte, parsed *ast.File, at *token.FileSet)) {
	t.Helper()
	all := os.DirFS("../..")
	expect.Must(t, fs.WalkDir(all, ".", func(file string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (file != "." && file[0] == '.' || d.Name() == "testdata" || file == "runs" || file == "findings") {
			return fs.SkipDir
		}
		if err != nil || filepath.Ext(file) != ".go" || !tests && strings.HasSuffix(file, "_test.go") {
			return err
		}
		text := expect.Value(fs.ReadFile(all, file))(t)
		at := token.NewFileSet()
		parsed := expect.Value(parser.ParseFile(at, file, text, parser.SkipObjectResolution))(t)
		visit(file, text, parsed, at)
		return nil
	}))
}

// exported counts what a file offers to others.
func exported(file *ast.File) (n int) {
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && (d.Recv == nil || receiver(d.Recv.List[0].Type).IsExported()) {
				n++
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				n += exportedOf(spec)
			}
		}
	}
	return n
}

func exportedOf(spec ast.Spec) (n int) {
	switch x := spec.(type) {
	case *ast.TypeSpec:
		if x.Name.IsExported() {
			return 1
		}
	case *ast.ValueSpec:
		for _, name := range x.Names {
			if name.IsExported() {
				n++
			}
		}
	}
	return n
}

func receiver(x ast.Expr) *ast.Ident {
	switch x := x.(type) {
	case *ast.StarExpr:
		return receiver(x.X)
	case *ast.IndexExpr:
		return receiver(x.X)
	case *ast.IndexListExpr:
		return receiver(x.X)
	case *ast.Ident:
		return x
	}
	return ast.NewIdent("")
}
