package proc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestHeadTailLines(t *testing.T) {
	a := strings.Repeat("a", 9) // lines of ten bytes
	rows := []struct {
		why   string
		limit int
		write []string
		want  string
	}{
		{"all of it fits", 100, []string{"one\n", "two\n"}, "one\ntwo\n"},
		{"nothing", 100, nil, ""},
		{"a line without an end gets one", 100, []string{"one", "two\n"}, "one\ntwo\n"},
		{"several lines in one write", 100, []string{"one\ntwo\n"}, "one\ntwo\n"},
		{"just fits both halves", 40, []string{"0" + a[1:] + "\n", "1" + a[1:] + "\n", "2" + a[1:] + "\n",
			"3" + a[1:] + "\n"},
			"0" + a[1:] + "\n1" + a[1:] + "\n2" + a[1:] + "\n3" + a[1:] + "\n"},
		{"the middle is counted", 44, []string{"0" + a[1:], "1" + a[1:], "2" + a[1:], "3" + a[1:], "4" + a[1:], "5" + a[1:]},
			"0" + a[1:] + "\n1" + a[1:] + "\n{\"type\":\"left_out\",\"lines\":2,\"bytes\":20}\n4" + a[1:] + "\n5" +
				a[1:] + "\n"},
		{"a line longer than half is left out whole", 20, []string{"x\n", strings.Repeat("y", 30), "z\n"},
			"x\n{\"type\":\"left_out\",\"lines\":1,\"bytes\":31}\nz\n"},
		{"no room at all", 0, []string{"x\n", "y\n"}, "{\"type\":\"left_out\",\"lines\":2,\"bytes\":4}\n"},
	}
	for _, row := range rows {
		t.Run(row.why, func(t *testing.T) {
			h := NewHeadTailLines(row.limit)
			for _, w := range row.write {
				if n, err := h.Write([]byte(w)); n != len(w) || err != nil {
					t.Errorf("wrote %d, %v", n, err)
				}
			}
			if got := string(h.Take()); got != row.want {
				t.Errorf("got\n%swant\n%s", got, row.want)
			}
		})
	}
}

// TestHeadTailLinesStaysJSONL: for all lengths every line of the result is a JSON
// value, and everything omitted is counted.
func TestHeadTailLinesStaysJSONL(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		h := NewHeadTailLines(r.IntN(2000))
		lines, size := 0, 0
		for range r.IntN(300) {
			line := fmt.Sprintf("{\"n\":%d,\"text\":%q}\n", lines, strings.Repeat("x", r.IntN(1+r.IntN(400))))
			h.Write([]byte(line))
			lines, size = lines+1, size+len(line)
		}
		gotLines, gotSize := 0, 0
		for line := range bytes.Lines(h.Take()) {
			var v struct {
				Type         string
				Lines, Bytes int
			}
			if err := json.Unmarshal(line, &v); err != nil {
				t.Fatalf("seed %d: %v: %s", seed, err, line)
			}
			if v.Type == "left_out" {
				gotLines, gotSize = gotLines+v.Lines, gotSize+v.Bytes
			} else {
				gotLines, gotSize = gotLines+1, gotSize+len(line)
			}
		}
		if gotLines != lines || gotSize != size {
			t.Fatalf("seed %d: %d lines of %d bytes became %d of %d", seed, lines, size, gotLines, gotSize)
		}
	}
}
