// Package cli is the command line: one file a command, each an adapter of
// flags to one call and of its result to text or JSON, and the wiring of all
// parts in wire.go.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/internal/proc"
	"git-ralph/internal/ui"
	"git-ralph/internal/view"
)

// Version is set by the build.
var Version = "0.1.0-dev"

// Globals are flags of every command.
type Globals struct {
	Dir     string `short:"C" placeholder:"DIR" help:"Run as if started in DIR."`
	Verbose int    `short:"v" type:"counter" help:"Say more; twice: say everything."`

	ShowVersion versionFlag `name:"version" short:"V" help:"Print the version, the commit and its date."`
}

// Commands is the command line.
type Commands struct {
	Globals

	Init   InitCmd   `cmd:"" group:"Setup" help:"Begin a journal on this branch and write ralph.toml."`
	Trust  TrustCmd  `cmd:"" group:"Setup" help:"Trust the ralph.toml of this repository."`
	Doctor DoctorCmd `cmd:"" group:"Setup" help:"Check git, the repository, the agent and the sandbox, and say how to fix what is missing."`
	Config ConfigCmd `cmd:"" group:"Setup" help:"List every setting with its value and where it came from."`
	Set    SetCmd    `cmd:"" group:"Setup" help:"Change a setting of a run from the next iteration on."`
	Demo   DemoCmd   `cmd:"" group:"Setup" help:"Show the main job end to end in a throw-away repository."`

	Start StartCmd `cmd:"" aliases:"build" group:"Lifecycle" help:"Work through the plan."`

	Run      RunCmd      `cmd:"" group:"Lifecycle" help:"From a sentence to validated work: discovery, planning, building, validation."`
	Discover DiscoverCmd `cmd:"" group:"Lifecycle" help:"Find out what is wanted and write specs."`
	PlanCmd  PlanCmd     `cmd:"" name:"plan" group:"Lifecycle" help:"Make a plan of the specs, or make it again."`
	Validate ValidateCmd `cmd:"" group:"Lifecycle" help:"Judge the result against the specs, or print the last report."`
	Approve  ApproveCmd  `cmd:"" group:"Lifecycle" help:"Agree to what waits for a person."`
	Reject   RejectCmd   `cmd:"" group:"Lifecycle" help:"Send back what waits for a person, with a reason."`
	Answer   AnswerCmd   `cmd:"" group:"Lifecycle" help:"Answer a question of an agent, or list them."`
	Reset    ResetCmd    `cmd:"" group:"Lifecycle" help:"Begin a new plan in the same journal."`

	Import  ImportCmd  `cmd:"" group:"Plan" help:"Read a plan; the format is detected."`
	Export  ExportCmd  `cmd:"" group:"Plan" help:"Write the plan in another format."`
	Add     AddCmd     `cmd:"" group:"Plan" help:"Add a task."`
	Edit    EditCmd    `cmd:"" group:"Plan" help:"Edit the plan in your editor."`
	Tasks   TasksCmd   `cmd:"" group:"Plan" help:"List the tasks."`
	Skip    SkipCmd    `cmd:"" group:"Plan" help:"Skip tasks."`
	Retry   RetryCmd   `cmd:"" group:"Plan" help:"Try tasks again, with their attempts at zero."`
	Block   BlockCmd   `cmd:"" group:"Plan" help:"Take a task out of the work, with a reason."`
	Unblock UnblockCmd `cmd:"" group:"Plan" help:"Let a blocked task be worked on."`

	Archive    ArchiveCmd    `cmd:"" group:"Plan" help:"Take done and skipped tasks out of the plan."`
	Regenerate RegenerateCmd `cmd:"" group:"Plan" help:"Plan again from the specs; done and skipped tasks stay."`

	Pause  PauseCmd  `cmd:"" group:"Steering" help:"Let the iteration end, then wait."`
	Resume ResumeCmd `cmd:"" group:"Steering" help:"Go on after a pause; close an open breaker to half."`
	Stop   StopCmd   `cmd:"" group:"Steering" help:"End the run after this iteration, or now."`
	Inject InjectCmd `cmd:"" group:"Steering" help:"Tell the agent something with its next prompt."`

	Status  StatusCmd  `cmd:"" group:"Audit" help:"Where the run stands."`
	Watch   WatchCmd   `cmd:"" group:"Audit" help:"The live view of a run, from another terminal."`
	Serve   ServeCmd   `cmd:"" group:"Audit" help:"The page of a run, in your browser."`
	Log     LogCmd     `cmd:"" group:"Audit" help:"What happened, newest first."`
	Show    ShowCmd    `cmd:"" group:"Audit" help:"Everything about one iteration."`
	Diff    DiffCmd    `cmd:"" group:"Audit" help:"What an attempt changed."`
	Handoff HandoffCmd `cmd:"" group:"Audit" help:"The newest handoff, or that of an iteration."`
	Prompt  PromptCmd  `cmd:"" group:"Audit" help:"The exact next prompt."`

	Verify VerifyCmd `cmd:"" group:"Audit" help:"Prove that kept commits pass the checks recorded for them."`

	History   HistoryCmd   `cmd:"" group:"Audit" help:"Every agent session with what it took."`
	Stats     StatsCmd     `cmd:"" group:"Audit" help:"Figures over all iterations."`
	Progress  ProgressCmd  `cmd:"" group:"Audit" help:"How far the plan is."`
	Memory    MemoryCmd    `cmd:"" group:"Audit" help:"What the next agent is reminded of."`
	Knowledge KnowledgeCmd `cmd:"" group:"Audit" help:"What is known about the project: list, show, add, supersede, search, promote."`

	Guard GuardCmd `cmd:"" group:"Guard" help:"Explain the verdict on a command."`

	Restore RestoreCmd `cmd:"" group:"Time travel" help:"Bring the files of an attempt back."`
	Rewind  RewindCmd  `cmd:"" group:"Time travel" help:"Take back what was kept after an iteration, by one commit."`
	Fork    ForkCmd    `cmd:"" group:"Time travel" help:"A new branch with code, plan and memory as of an iteration."`
	Land    LandCmd    `cmd:"" group:"Time travel" help:"Bring the work of the linked worktree over, checked once more."`
	Redact  RedactCmd  `cmd:"" group:"Time travel" help:"Take a text out of everything that was recorded."`
	Adopt   AdoptCmd   `cmd:"" group:"Time travel" help:"Go on from the branch as it is, or take over a journal without a branch."`

	Push PushCmd `cmd:"" group:"Sharing" help:"Bring the journal to a remote."`
	PR   PRCmd   `cmd:"" name:"pr" group:"Sharing" help:"Open or update a pull request with the proved commits and the report."`
	Pull PullCmd `cmd:"" group:"Sharing" help:"Bring the journal of a remote here, and join it with the one here."`

	Fsck       FsckCmd       `cmd:"" group:"Care" help:"Re-apply the journal and say what is damaged."`
	GC         GCCmd         `cmd:"" name:"gc" group:"Care" help:"Remove old evidence and what runs left behind."`
	Completion CompletionCmd `cmd:"" group:"Care" help:"Print or install shell completions and man pages."`

	Test      TestCmd      `cmd:"" group:"Toolchain" help:"Run the project's tests."`
	Lint      LintCmd      `cmd:"" group:"Toolchain" help:"Run the project's linter."`
	Typecheck TypecheckCmd `cmd:"" group:"Toolchain" help:"Run the project's type checker."`
	Deps      DepsCmd      `cmd:"" group:"Toolchain" help:"Add or install dependencies."`

	Tool       ToolCmd       `cmd:"" hidden:"" help:"Call a tool of the running iteration."`
	Mcp        McpCmd        `cmd:"" hidden:"" help:"Serve the tools of the running iteration over MCP."`
	Worker     WorkerCmd     `cmd:"" hidden:"" help:"Work on one task for a run with several workers."`
	Failpoints FailpointsCmd `cmd:"" hidden:"" help:"List the steps at which RALPH_FAILPOINT can end the process."`
	VersionCmd VersionCmd    `cmd:"" name:"version" hidden:"" help:"Print the version."`
}

// App is what a command works with. Repo, journal and settings are opened when
// a command first asks for them.
type App struct {
	Ctx            context.Context
	In             io.Reader
	Out, Err       io.Writer
	Env            []string
	Dir            string
	Verbose        int
	JSON           bool
	repo           *gitstate.Repo
	journal        *journal.Journal
	linked         *gitstate.Linked // with --worktree, once it is entered
	typed          string           // the worktree where that was typed
	wantsLinked    bool             // --worktree was given
	git            proc.Config
	coloured       map[bool]bool // whether text is coloured, by being a terminal
	closeFunctions []func()
	// newJournal reports whether the person insists on a journal of their own beside a remote's.
	newJournal bool
	view       *ui.Program // the live view while it is drawn
	logFile    string      // RALPH_LOG_FILE
	// args are the words of the command line, and typedIn where it was typed.
	args    []string
	typedIn string
	// detachedLog has the output of a start that has no terminal; "" = it has one.
	detachedLog string
	// via is where a person gave a command, when it was not the command line.
	via string
	log logWriter
}

// ExitError ends a command with a code; its message was printed already when
// Err is nil.
type ExitError struct {
	Code int
	Err  error
}

func (e *ExitError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit %d", e.Code)
	}
	return e.Err.Error()
}
func (e *ExitError) Unwrap() error { return e.Err }

// usage is an error of the command line itself.
func usage(hint, format string, args ...any) error {
	return gitstate.Hint(2, hint, format, args...)
}

// Main runs one command and returns its exit code. argv is os.Args.
func Main(argv []string) int {
	if code, done := early(argv); done {
		return code
	}
	const needed = 3 << 30 // addresses that the runtime reserves; with less it may end at any moment
	if has, bounded := proc.AddressSpace(); bounded && has < needed {
		fmt.Fprintf(os.Stderr, "error: this shell allows a program %d MB of address space, and git ralph needs %d MB\n"+
			"hint: ulimit -v unlimited, or start it where that is so\n", has>>20, needed>>20)
		return 8
	}
	env := os.Environ()
	app := &App{Ctx: context.Background(), In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Env: env}
	return app.Run(argv[1:])
}

// Run parses and executes, says what went wrong, and gives the exit code.
func (a *App) Run(args []string) int {
	a.JSON = wantsJSON(args)
	a.Out, a.Err = view.Through(a.Out, view.Format(a.JSON)), view.Through(a.Err, view.Format(a.JSON))
	defer a.close()
	code := a.report(a.execute(args))
	// What was not written was not done. A reader that has left wanted no more.
	if err := view.Failed(a.Out); code == 0 && err != nil && !errors.Is(err, syscall.EPIPE) {
		code = a.report(fmt.Errorf("write the output: %w", err))
	}
	return code
}

// execute parses and executes.
func (a *App) execute(args []string) (err error) {
	exited := -1
	type leave struct{}
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(leave); !ok {
				panic(r)
			}
			err = &ExitError{Code: exited}
		}
	}()
	exit := kong.Exit(func(code int) { exited = code; panic(leave{}) })
	if one, flags := oneCommand(args); one != nil {
		// To ask for help is a mistake here, and mistakes are explained below, where all commands are known.
		parser, err := a.lineParser(one, exit, kong.NoDefaultHelp())
		if err != nil {
			return err
		}
		if kctx, err := parse(parser, args); err == nil {
			return a.begin(kctx, flags, args)
		}
	}
	if len(args) > 0 && args[0] == completeWord {
		a.complete(args[1:])
		return nil
	}
	var cmds Commands
	parser, err := a.lineParser(&cmds, exit)
	if err != nil {
		return err
	}
	teach(parser.Model.Node)
	args = a.alias(args)
	if len(args) == 0 {
		args = []string{"--help"}
	}
	kctx, err := parse(parser, args)
	if err != nil {
		return a.parseError(err, args)
	}
	return a.begin(kctx, &cmds.Globals, args)
}

// lineParser reads command lines by a grammar.
func (a *App) lineParser(grammar any, more ...kong.Option) (*kong.Kong, error) {
	return kong.New(grammar, append([]kong.Option{kong.Name("git ralph"),
		kong.Description("Run a coding agent alone, overnight, on a repository you care about."),
		kong.Writers(view.Behind(a.Out), view.Behind(a.Err)),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true})}, more...)...)
}

// model describes all commands, with their examples.
func (a *App) model() *kong.Application {
	parser, err := a.lineParser(&Commands{})
	if err != nil {
		panic(err) // the commands are declared wrongly, and no test ran
	}
	teach(parser.Model.Node)
	return parser.Model
}

// begin runs the command of a line that was parsed.
func (a *App) begin(kctx *kong.Context, flags *Globals, args []string) (err error) {
	if err := a.setLogging(flags.Verbose); err != nil {
		return err
	}
	if a.Dir, err = os.Getwd(); err != nil {
		return err
	}
	a.args, a.typedIn = args, a.Dir
	if flags.Dir != "" {
		if err := os.Chdir(flags.Dir); err != nil {
			return usage("name a folder that exists", "%w", err)
		}
		if a.Dir, err = os.Getwd(); err != nil {
			return err
		}
	}
	return run(kctx, a)
}

// alias makes `git ralph help X` the same as `git ralph X --help`.
func (a *App) alias(args []string) []string {
	if len(args) > 0 && args[0] == "help" {
		return append(append([]string{}, args[1:]...), "--help")
	}
	return args
}

// versionFlag is met by parse.
type versionFlag bool

func wantsJSON(args []string) bool {
	for _, s := range args {
		if s == "--json" {
			return true
		}
		if s == "--" {
			return false
		}
	}
	return false
}

func (a *App) close() {
	for i := len(a.closeFunctions) - 1; i >= 0; i-- {
		a.closeFunctions[i]()
	}
	if a.repo != nil {
		a.repo.Close()
	}
}

// report prints an error as users and programs want it and returns the exit code.
func (a *App) report(err error) int {
	if err == nil {
		return 0
	}
	var exit *ExitError
	if errors.As(err, &exit) && exit.Err == nil {
		return exit.Code
	}
	code, hint := exitOf(err, linkedAsked(a.wantsLinked))
	if more := a.shallowHint(err); more != "" {
		hint = more
	}
	if more := a.linkedHint(); more != "" {
		hint = strings.TrimPrefix(hint+"\n"+more, "\n")
	}
	if a.JSON {
		enc := json.NewEncoder(a.Err)
		enc.SetEscapeHTML(false)
		enc.Encode(map[string]any{"error": err.Error(), "hint": hint, "code": code})
		return code
	}
	fmt.Fprintln(a.Err, a.colour(a.Err, "31", "error:"), err)
	for line := range strings.Lines(hint) {
		fmt.Fprintln(a.Err, a.colour(a.Err, "36", "hint:"), strings.TrimSuffix(line, "\n"))
	}
	return code
}

// warn tells a person something that stops nothing. With --json the error
// object is all there is on standard error.
func (a *App) warn(format string, args ...any) {
	a.logLine("warning", format, args...)
	if a.JSON || a.Verbose < 0 {
		return
	}
	a.printerTo(a.Err).Say("%s %s\n", a.colour(a.Err, "33", "warning:"), fmt.Sprintf(format, args...))
}

func (a *App) printf(format string, args ...any) { fmt.Fprintf(a.Out, format, args...) }

// printJSON writes one value as JSON; indented, for people read it too.
func (a *App) printJSON(v any) error {
	enc := json.NewEncoder(a.Out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// printLine writes one value as one line of JSON.
func (a *App) printLine(v any) error {
	enc := json.NewEncoder(a.Out)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// Repo opens the repository of the working directory.
func (a *App) Repo() (*gitstate.Repo, error) {
	if a.repo != nil {
		return a.repo, nil
	}
	repo, err := gitstate.Open(a.Ctx, a.Dir, a.Env)
	if err != nil {
		return nil, err
	}
	a.repo = repo
	return repo, nil
}

// Journal opens the journal of the branch that is checked out.
func (a *App) Journal() (*journal.Journal, error) {
	if a.journal != nil {
		return a.journal, nil
	}
	repo, err := a.Repo()
	if err != nil {
		return nil, err
	}
	branch, _, err := repo.Head(a.Ctx)
	if err != nil {
		return nil, err
	}
	j, err := journal.Open(a.Ctx, repo, branch)
	if err != nil {
		return nil, err
	}
	j.Fail = a.failpoint()
	a.journal = j
	return j, nil
}

// Load reads the newest state.
func (a *App) Load() (*journal.Snapshot, error) {
	snap, err := a.loadQuietly()
	if errors.Is(err, journal.ErrNone) {
		return nil, a.noJournalHere(a.journal)
	}
	return snap, err
}

// loadQuietly reads the newest state and looks nowhere else when there is none.
func (a *App) loadQuietly() (*journal.Snapshot, error) {
	j, err := a.Journal()
	if err != nil {
		return nil, err
	}
	return j.Load(a.Ctx)
}

// noJournal says that there is none and what can be done: another branch of
// this repository, or the remote, may have one.
func (a *App) noJournal(j *journal.Journal) error {
	if err := a.lostJournal(j, 1); err != nil {
		return err
	}
	hint := "git ralph init begins one; git ralph import FILE reads a plan and begins one"
	if others, err := journal.Others(a.Ctx, j.Repo); err == nil && len(others) > 0 {
		var there, gone []string
		for name := range others {
			if at, err := j.Repo.ReadRef(a.Ctx, gitstate.BranchRef(name)); err == nil && at.IsZero() {
				gone = append(gone, name)
			} else {
				there = append(there, name)
			}
		}
		if len(gone) > 0 {
			hint += "\ngit ralph adopt takes over the journal of a deleted branch: " + strings.Join(sortedStrings(gone), ", ")
		}
		if len(there) > 0 {
			hint += "\nthere is one on: " + strings.Join(sortedStrings(there), ", ")
		}
	}
	return gitstate.Hint(1, hint, "the branch %s has no journal", j.Branch)
}

// reader reads what the documents of the branch are made of.
func (a *App) reader() view.Reader {
	return view.Reader{Journal: a.journal, Event: a.getenv(proc.EventVariable), Settings: a.settingsQuietly,
		Log: a.logLine}
}
