//go:build ignore

// Typecheck holds all packages of this module to the types of other systems, without
// making machine code: what of the code does not compile there is found, but not what
// only a linker or an assembler would refuse. Tests are code too. Of other modules the
// declarations are read, and not the bodies of functions.
//
//	go run .ci/typecheck.go windows/amd64 darwin/arm64
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	log.SetFlags(0)
	here, err := os.Getwd()
	if err != nil {
		log.Fatal(err)
	}
	here += string(filepath.Separator)
	bad := false
	for _, target := range os.Args[1:] {
		system, arch, _ := strings.Cut(target, "/")
		c := &packages.Config{
			Tests: true,
			Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedDeps |
				packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo | packages.NeedTypesSizes | packages.NeedModule,
			Env: append(os.Environ(), "GOOS="+system, "GOARCH="+arch, "CGO_ENABLED=0"),
			ParseFile: func(fset *token.FileSet, name string, src []byte) (*ast.File, error) {
				f, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
				if f != nil && !strings.HasPrefix(name, here) {
					for _, d := range f.Decls {
						if d, ok := d.(*ast.FuncDecl); ok {
							d.Body = nil
						}
					}
				}
				return f, err
			},
		}
		roots, err := packages.Load(c, "./...")
		if err != nil {
			log.Fatal(err)
		}
		n, module := 0, 0
		packages.Visit(roots, nil, func(p *packages.Package) {
			n++
			if p.Module == nil || !p.Module.Main || strings.HasSuffix(p.PkgPath, ".test") {
				return // the last are programs that go test writes, outside of here
			}
			module++
			for _, e := range p.Errors {
				bad = true
				fmt.Printf("%s: %v\n", target, e)
			}
		})
		fmt.Printf("%s: %d packages of this module, %d others\n", target, module, n-module)
		if module < 50 {
			log.Fatalf("%s: hardly anything was looked at", target)
		}
	}
	if bad {
		os.Exit(1)
	}
}
