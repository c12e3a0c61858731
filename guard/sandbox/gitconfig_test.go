package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCleanGitConfig removes secrets and leaves everything else as it is.
func TestCleanGitConfig(t *testing.T) {
	for _, c := range []struct{ why, in, want, secrets string }{
		{"nothing to hide",
			"[core]\n\tbare = false\r\n[remote \"o\"]\n\turl = git@host:x.git\n\tfetch = +refs/heads/*:refs/remotes/o/*\n", "",
			""},
		{"a password", "[remote \"o\"]\n\turl = https://me:tok@host/x.git\n",
			"[remote \"o\"]\n\turl = \"https://host/x.git\"\n", "remote.o.url"},
		{"written in pieces", "[remote \"o\"]\n\turl = ht\"tps:/\"/me:\"tok\"@ho\\\nst/x # y\n",
			"[remote \"o\"]\n\turl = \"https://host/x\"\n", "remote.o.url"},
		{"a token for a user", "[remote \"o\"]\nURL=https://abcdefghijklmnopqrstuvwxyz@host/x\n",
			"[remote \"o\"]\nurl = \"https://host/x\"\n", "remote.o.url"},
		{"a user is a name", "[remote \"o\"]\n\turl = https://me@host/x\n\tpushurl = ssh://git@host/x\n", "", ""},
		{"a password for ssh", "[remote \"o\"]\n\turl = ssh://git:tok@host/x\n",
			"[remote \"o\"]\n\turl = \"ssh://host/x\"\n", "remote.o.url"},
		{"several URLs of one remote", "[remote \"o\"]\n\turl = /a\n\turl = http://u:p@h/\n",
			"[remote \"o\"]\n\turl = /a\n\turl = \"http://h/\"\n", "remote.o.url"},
		{"in the name of a section", "[url \"https://me:tok@host/\"]\n\tinsteadOf = https://host/\n",
			"[url \"https://host/\"]\n\tinsteadOf = https://host/\n", "url.https://host/.*"},
		{"a header for every request", "[http]\n\textraHeader = AUTHORIZATION: basic eDp5\n\tsslVerify = true\n",
			"[http]\n\t\n\tsslVerify = true\n", "http.extraheader"},
		{"a header for one host", "[http \"https://host/\"]\n\textraheader = X: y\n", "[http \"https://host/\"]\n\t\n",
			"http.https://host/.extraheader"},
		{"a proxy", "[http]\n\tproxy = http://u:p@proxy:3128\n", "[http]\n\tproxy = \"http://proxy:3128\"\n", "http.proxy"},
		{"a parameter", "[remote \"o\"]\n\turl = https://host/x?private_token=tok&a=b\n",
			"[remote \"o\"]\n\turl = \"https://host/x?private_token=hidden&a=b\"\n", "remote.o.url"},
		{"by its name", "[github]\n\tuser = me\n\tToken = tok\n[sendemail]\n\tsmtpPass = tok\n[imap]\n\tpass = tok\n",
			"[github]\n\tuser = me\n\t\n[sendemail]\n\t\n[imap]\n\t\n", "github.token sendemail.smtppass imap.pass"},
		{"by its shape",
			"[alias]\n\tx = !curl -H 'Authorization: token tok'\n\ty = !api ghp_0123456789abcdefghij\n\tz = log\n",
			"[alias]\n\t\n\t\n\tz = log\n", "alias.x alias.y"},
		{"a helper with it in its text",
			"[credential \"https://host\"]\n\thelper = \"!f() { echo password=tok; }; f\"\n\thelper = store\n",
			"[credential \"https://host\"]\n\t\n\thelper = store\n", "credential.https://host.helper"},
		{"helpers that ask somewhere else",
			"[credential]\n\thelper = !/usr/bin/gh auth git-credential\n\thelper = \"!f() { echo password=$TOKEN; }; f\"\n" +
				"[http]\n\tsslCertPasswordProtected = true\n", "", ""},
		{"a comment", "# url = https://me:tok@host/\n[core] ; tok\n\tx = y # tok\n\tz\n",
			"#\n[core] ;\n\tx = y \n\tz\n", "-"},
		{"on the line of the section", "[remote \"o\"]url = https://u:p@h/\n", "[remote \"o\"]url = \"https://h/\"\n",
			"remote.o.url"},
		{"no line feed at the end", "[remote \"o\"]\nurl = https://u:p@h/", "[remote \"o\"]\nurl = \"https://h/\"",
			"remote.o.url"},
		{"quotes and escapes around it", "[remote \"o\"]\nurl = \"https://u:p@h/a b\\t\\\"c\\\\\" d\n",
			"[remote \"o\"]\nurl = \"https://h/a b\\t\\\"c\\\\ d\"\n", "remote.o.url"},
	} {
		got, err := parseGitConfig([]byte(c.in))
		if err != nil {
			t.Errorf("%s: %v", c.why, err)
			continue
		}
		if c.want == "" {
			c.want = c.in
		}
		if d := cmp.Diff(c.want, string(got.clean)); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.why, d)
		}
		if keys := strings.Join(got.secrets, " "); keys != strings.Trim(c.secrets, "-") {
			t.Errorf("%s: secrets %q, expected %q", c.why, keys, c.secrets)
		}
	}
	got, err := parseGitConfig(
		[]byte("[include]\n\tpath = \"a b\"\n[includeIf \"gitdir:/x/\"]\n\tpath = ~/c # d\n[other]\n\tpath = e\n"))
	if d := cmp.Diff([]string{"a b", "~/c"}, got.includes); d != "" || err != nil {
		t.Errorf("includes %v (-want +got):\n%s", err, d)
	}
}

// listed is what git reads, as "key\nvalue"; false if git fails.
func listed(t *testing.T, file string) ([]string, bool) {
	t.Helper()
	cmd := exec.Command("git", "config", "--file", file, "--no-includes", "--list", "-z")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Dir(file), "LC_ALL=C"}
	out, err := cmd.Output()
	if err != nil {
		return nil, false
	}
	return strings.Split(string(out), "\x00"), true
}

// agrees compares with git: both can read a file or neither. The cleaned file has
// the same settings but no secrets.
func agrees(t *testing.T, in string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config")
	write := func(data string) {
		if err := os.WriteFile(file, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(in)
	before, readable := listed(t, file)
	got, err := parseGitConfig([]byte(in))
	if !readable || err != nil {
		// We must fail where git fails. git may know more kinds of failures.
		if readable {
			t.Errorf("git reads what we do not: %q", in)
		}
		return
	}
	write(string(got.clean))
	after, readable := listed(t, file)
	if !readable {
		t.Fatalf("git reads %q and not what we made of it: %q", in, got.clean)
	}
	again, err := parseGitConfig(got.clean)
	if err != nil || len(again.secrets) > 0 {
		t.Errorf("%q cleaned is %q, which still has %v %v", in, got.clean, again.secrets, err)
	}
	if len(got.secrets) == 0 {
		if d := cmp.Diff(before, after); d != "" {
			t.Errorf("%q has no secret and says something else now:\n%s", in, d)
		}
		return
	}
	// Each line of the cleaned file is an old one, perhaps without a URL's user.
	for _, a := range after {
		key, value, _ := strings.Cut(a, "\n")
		found := false
		for _, b := range before {
			bkey, bvalue, _ := strings.Cut(b, "\n")
			found = found || b == a || cleanURLs(bvalue) == value && (bkey == key ||
				strings.EqualFold(cleanURLs(bkey), key) || strings.Contains(key, "hidden"))
		}
		if !found {
			t.Errorf("%q was not in %q", a, before)
		}
	}
}

var configSeeds = []string{
	"", "\n", "[a]", "[a]\nb", "[a]\nb=", "[a]\nb = c d  e\t f  \n", "[a \"b\\\"c\\\\d\"]\ne = f\n", "[a.B.c]\nd=e\n",
	"[a\t\"b\"]\nc=d", "[a \"b\" ]\nc=d",
	"[a]b=c\n[d]e=f", "[a]\nb = \"x ; y\" ; z\n", "[a]\nb = x\\\n  y\n", "[a]\nb = x\\\r\n  y\r\n",
	"[a]\nb = \\t\\n\\b\\\\\\\"\n", "[a]\nb = \\q\n", "[a]\nb = \"c\n",
	"b = c\n", "[a]\n1b = c\n", "[a]\nb-c = d\n", "[a]\nb_c = d\n", "\xef\xbb\xbf[a]\nb=c\n", "[a]\nb = \\",
	"[a]\nb = c\\", "[a]\nb \t= c", "[a]\nb \v= c", "[a\n]\n", "[ a]\n", "[]\nb=c\n",
	"[remote \"o\"]\nurl = https://u:p@h/x\nfetch = y\n", "[url \"https://u:p@h/\"]\ninsteadof = x\n",
	"[http]\nextraheader = a\nproxy = http://u:p@h\n", "# c\n; d\n[a] # e\nb = c # d\n",
	"[a]\nb = \"\"\n", "[a]\nb = \" x \" \n", "[a]\nb = x \"\" \n", "[a]\nb = c\rd\n", "[a]\n\rb = c\n",
	"[a \"\"]\nb=c\n", "[a \"x\ty\"]\nb=c\n", "[a]\n[b]\n", "[A-1]\nB=C\n", "[a]\nb=\r\n",
	"[a \"https://u:p@h\"]\nb\n", "[x \"abc ghp_0123456789abcdefghij\"]\ny = z\n", "[a]\nb = x # \\\n c = d\n",
	"\f[a]\v\nb=c", "[a]\nb\n=c",
}

func TestGitReadsConfigsTheSame(t *testing.T) {
	for _, s := range configSeeds {
		agrees(t, s)
	}
}

func FuzzGitConfig(f *testing.F) {
	for _, s := range configSeeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		if len(in) > 4096 || strings.Contains(in, "\x00") { // git stops at a zero byte, which also separates the list
			parseGitConfig([]byte(in))
			return
		}
		agrees(t, in)
	})
}
