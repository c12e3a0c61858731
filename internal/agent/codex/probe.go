package codex

import (
	"context"
	"os"
	"path/filepath"

	"git-ralph/internal/agent/client"
	"git-ralph/loop/session"
)

// TestedVersion is the version that the tests ran. Older ones are not known to
// ask about every command, or to take tools from us.
const TestedVersion = "0.169.0"

// InstallHint is how to get a client that works.
const InstallHint = "npm install -g @openai/codex@" + TestedVersion

// LoginHint is how to let it in.
const LoginHint = "codex login, or set OPENAI_API_KEY"

// Probe finds the client, asks for its version and looks for a login. path is
// the client; "" = "codex" in PATH of env. An error means that ctx ended;
// everything about the client is in Info.
func Probe(ctx context.Context, path string, env []string) (client.Info, error) {
	return client.Probe{Name: "Codex", Tested: TestedVersion, Install: InstallHint, Login: LoginHint,
		Find: func() []string {
			if found := find(path, env); found != "" {
				return []string{found}
			}
			return nil
		},
		LoggedIn: func() bool {
			_, err := os.Stat(filepath.Join(client.Get(env, "HOME"), CredentialFile))
			return err == nil || keyVariable(env) != ""
		}}.Run(ctx, environ(session.Request{Env: env}))
}
