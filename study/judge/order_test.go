package judge

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"evbench/testing/expect"
)

// steps are the files of the package, each of which uses only those before it: facts, findings, writers, and at last the two questions
// of a command that have facts of their own.
var steps = strings.Fields(`
	input traffic words fabric why capacity limit tables ordered pairs repair planned judge
	findings
	text page
	ports collective`)

// Without its imports the package is checked as far as its own names go, which is all that is asked.
func TestFilesUseThoseBefore(t *testing.T) {
	at, info := token.NewFileSet(), &types.Info{Uses: map[*ast.Ident]types.Object{}}
	var files []*ast.File
	names := expect.Value(filepath.Glob("*.go"))(t)
	for _, name := range names {
		if !strings.HasSuffix(name, "_test.go") {
			files = append(files, expect.Value(parser.ParseFile(at, name, nil, 0))(t))
		}
	}
	expect.Equal(t, len(files), len(steps), "files of the package")
	pkg, _ := (&types.Config{Error: func(error) {}}).Check("judge", at, files, info)
	step := func(p token.Pos) int { return slices.Index(steps, strings.TrimSuffix(at.Position(p).Filename, ".go")) }
	arrows := 0
	for id, of := range info.Uses {
		if of.Pkg() != pkg {
			continue
		}
		if step(id.Pos()) != step(of.Pos()) {
			arrows++
		}
		expect.True(t, step(id.Pos()) >= step(of.Pos()), "%s uses %s of %s", at.Position(id.Pos()), of.Name(), at.Position(of.Pos()).Filename)
	}
	expect.True(t, arrows > 500, "%d uses of other files were found", arrows)
}
