package dashboard

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"sync"
)

//go:embed page
var files embed.FS

// scripts are the parts of the page's script, in order.
var scripts = []string{"core.js", "charts.js", "tasks.js", "timeline.js", "detail.js", "panels.js", "main.js"}

// built is the page as one document, and the policy under which a browser runs
// its own script and style and nothing else.
var built = sync.OnceValues(func() ([]byte, string) {
	read := func(name string) []byte {
		data, err := files.ReadFile("page/" + name)
		if err != nil {
			panic(err) // it is compiled in
		}
		return data
	}
	var script bytes.Buffer
	script.WriteString("\"use strict\";\n(() => {\n")
	for _, name := range scripts {
		script.Write(read(name))
	}
	script.WriteString("})();\n")
	style := read("style.css")
	html := read("index.html")
	html = bytes.Replace(html, []byte("/*style*/"), style, 1)
	html = bytes.Replace(html, []byte("/*script*/"), script.Bytes(), 1)
	policy := fmt.Sprintf("default-src 'none'; script-src '%s'; style-src '%s'; connect-src 'self'; img-src data:; "+
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'", hash(script.Bytes()), hash(style))
	return html, policy
})

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
