package dashboard

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"io"
	"sync"
)

// packed is the page as one document, which TestPageIsPacked makes of the files in
// page: it takes a quarter of their size.
//
//go:embed page.html.gz
var packed []byte

// built is the page, and the policy under which a browser runs its own script and
// style and nothing else.
var built = sync.OnceValues(func() ([]byte, string) {
	in, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		panic(err) // it is compiled in
	}
	html, err := io.ReadAll(in)
	if err != nil {
		panic(err)
	}
	return html, fmt.Sprintf("default-src 'none'; script-src '%s'; style-src '%s'; connect-src 'self'; img-src data:; "+
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'", hash(element(html, "script")),
		hash(element(html, "style")))
})

// element is the content of the only element with this name.
func element(html []byte, name string) []byte {
	_, rest, _ := bytes.Cut(html, []byte("<"+name+">"))
	content, _, _ := bytes.Cut(rest, []byte("</"+name+">"))
	return content
}

func hash(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

func whole() []byte {
	html, _ := built()
	return html
}

func policy() string {
	_, policy := built()
	return policy
}
