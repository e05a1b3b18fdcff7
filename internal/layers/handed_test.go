package layers_test

import (
	"go/ast"
	"go/token"
	"strings"
	"testing"

	"evbench/testing/expect"
)

// TestNothingRegisters: what a package uses is handed in, so importing one has no effect of its own. No package of ours is imported for its
// effect, tests included, and no init function hands anything to another package of ours: only main has one, for a variable of a library.
func TestNothingRegisters(t *testing.T) {
	goFiles(t, true, func(file string, _ []byte, parsed *ast.File, _ *token.FileSet) {
		ours := map[string]bool{}
		for _, i := range parsed.Imports {
			to := strings.Trim(i.Path.Value, `"`)
			if strings.HasPrefix(to, "evbench/") {
				ours[to[strings.LastIndexByte(to, '/')+1:]] = true
				expect.True(t, i.Name == nil || i.Name.Name != "_", "%s imports %s for its effect: hand in what is needed", file, to)
			}
		}
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				expect.True(t, parsed.Name.Name == "main" && setsOnly(f, ours), "%s has an init function: hand in what is needed", file)
			}
		}
	})
}

// setsOnly reports whether a function only sets variables, none of them of our packages.
func setsOnly(f *ast.FuncDecl, ours map[string]bool) bool {
	for _, s := range f.Body.List {
		set, ok := s.(*ast.AssignStmt)
		if !ok {
			return false
		}
		for _, to := range set.Lhs {
			of, ok := to.(*ast.SelectorExpr)
			if !ok {
				return false
			}
			if name, ok := of.X.(*ast.Ident); !ok || ours[name.Name] {
				return false
			}
		}
	}
	return true
}
