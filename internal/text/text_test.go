package text

import "testing"

func TestDistance(t *testing.T) {
	for _, row := range []struct {
		a, b string
		want int
		why  string
	}{
		{"", "", 0, "nothing to do"},
		{"", "abc", 3, "three insertions"},
		{"driver", "driver", 0, "the same"},
		{"drivr", "driver", 1, "a letter is missing"},
		{"dirver", "driver", 1, "two neighbours changed places, which is one slip"},
		{"kitten", "sitting", 3, "two substitutions and an insertion"},
	} {
		if got := Distance(row.a, row.b); got != row.want {
			t.Errorf("%q %q: %d, want %d: %s", row.a, row.b, got, row.want, row.why)
		}
		if got := Distance(row.b, row.a); got != row.want {
			t.Errorf("%q %q: %d, want %d: it is the same both ways", row.b, row.a, got, row.want)
		}
	}
}

func TestCuts(t *testing.T) {
	for _, row := range []struct{ got, want, why string }{
		{Clip("abc", 3), "abc", "it fits"},
		{Clip("abcd", 3), "ab…", "the mark is one of the three"},
		{Clip("äöüß", 3), "äö…", "characters are counted, not bytes"},
		{Clip("ab cd", 4), "ab…", "no blank before the mark"},
		{Clip("abc", 0), "…", "no room at all"},
		{CutBytes("äö", 3), "ä", "no character is split"},
		{CutBytes("ab", 5), "ab", "it fits"},
		{CutBytes("ä", -1), "", "no room at all"},
		{FirstLine("\n\n  one \r\ntwo"), "one", "the first line with something in it"},
		{FirstLine(" \n "), "", "there is none"},
	} {
		if row.got != row.want {
			t.Errorf("%q, want %q: %s", row.got, row.want, row.why)
		}
	}
	if rest, ok := CutPrefixFold("Ralph.Key", "ralph."); rest != "Key" || !ok {
		t.Errorf("%q %v", rest, ok)
	}
	if rest, ok := CutPrefixFold("ral", "ralph."); rest != "ral" || ok {
		t.Errorf("%q %v", rest, ok)
	}
}
