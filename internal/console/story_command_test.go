package console_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"bursar/internal/browsertest"
	"bursar/internal/server/servertest"
)

// storyCommand is a command of a story.
type storyCommand = func(s *stage, ts *testscript.TestScript, neg bool, args []string)

// storyCommands are the commands of stories by their usage. PATH is below that of the workspace unless it begins with /; "." is the
// workspace's home page. VARIABLE is the name of a variable that the command sets.
var storyCommands = map[string]storyCommand{
	// Who acts, each in a browser of their own. Names that begin with "stranger" are not signed in; admin/other is another browser
	// of the admin. Options: -noscripts, -phone, -language=TAG, -zone=NAME.
	"as WHO [OPTION…]": (*stage).cmdAs,
	"open PATH": func(s *stage, _ *testscript.TestScript, _ bool, args []string) {
		s.who.open(s).Goto(s.node.PublicURL + s.path(args[0]))
	},

	// Pages and forms without a browser: their status at the end of all redirects, the texts that they have or lack, how often an
	// expression matches, and where they ended.
	"get STATUS PATH": func(s *stage, ts *testscript.TestScript, _ bool, args []string) {
		s.answered(ts, args[0], s.who.browse(s).get(s.path(args[1])))
	},
	"post STATUS PATH [NAME=VALUE…]":   (*stage).cmdPost,
	"[!] body [-count=N] TEXT [TEXT…]": (*stage).cmdBody,
	"landed PATH":                      (*stage).cmdLanded,

	// The API, as the admin or WHO: "stranger", a token, or a person or tenant of the story. json compares a part of the answer.
	"[!] api [-as=WHO] METHOD PATH [BODY]": func(s *stage, ts *testscript.TestScript, neg bool, args []string) {
		servertest.ScriptAPI(ts, neg, args, s.caller)
	},
	"capture VARIABLE JQ": func(_ *stage, ts *testscript.TestScript, neg bool, args []string) {
		servertest.ScriptCapture(ts, neg, args)
	},
	"json JQ WANT": (*stage).cmdJSON,
	// exchange sends an API key, or the id and the secret of a machine client, for a token.
	"exchange STATUS KEY [SECRET]": (*stage).cmdExchange,

	// People: NAME is NAME@example.com, and NAME_ID their id. A tenant sets NAME_WS, NAME_ORG and NAME_OWNER_ID.
	"user NAME": func(s *stage, ts *testscript.TestScript, _ bool, args []string) {
		s.joins(ts, args[0], s.node.User(s.t, emailOf(args[0])))
	},
	"member NAME ROLE": func(s *stage, ts *testscript.TestScript, _ bool, args []string) {
		s.joins(ts, args[0], s.node.Member(s.t, emailOf(args[0]), args[1]))
	},
	"tenant NAME": (*stage).cmdTenant,
	// staff adds people who never sign in, and everybodycounts lets approvers count from the start.
	"staff ROLE N": func(s *stage, ts *testscript.TestScript, _ bool, args []string) {
		s.node.FirstTenant(s.t).Staff(args[0], number(ts, args[1]))
	},
	"everybodycounts": func(s *stage, _ *testscript.TestScript, _ bool, _ []string) {
		s.node.FirstTenant(s.t).EverybodyCounts()
	},
	"operate WHO PERMISSION…": func(s *stage, _ *testscript.TestScript, _ bool, args []string) {
		s.caller(args[0]).Operate(args[1:]...)
	},

	// The directory: an entry, its receiving method, a payee, which sets VARIABLE and VARIABLE_METHOD, a deleted entry, N people
	// called "Person 00" and so on, two people and two organizations, and what the admin finds when they come back to a busy log.
	"entry VARIABLE JSON": func(s *stage, ts *testscript.TestScript, _ bool, args []string) {
		ts.Setenv(args[0], s.node.Admin(s.t).Entry(object(ts, args[1])))
	},
	"method VARIABLE ENTRY NUMBER [JSON]": (*stage).cmdMethod,
	"payee VARIABLE NAME NUMBER": func(s *stage, ts *testscript.TestScript, _ bool, args []string) {
		entry, method := payee(s.t, s.node, args[1], args[2])
		ts.Setenv(args[0], entry)
		ts.Setenv(args[0]+"_METHOD", method)
	},
	"deleted NAME": func(s *stage, _ *testscript.TestScript, _ bool, args []string) {
		admin := s.node.Admin(s.t)
		admin.Delete("/v1/directory/" + admin.Entry(servertest.Body{"name": args[0]})).OK()
	},
	"people N": func(s *stage, ts *testscript.TestScript, _ bool, args []string) {
		somePeople(s.t, s.node, number(ts, args[0]))
	},
	"some":                      func(s *stage, _ *testscript.TestScript, _ bool, _ []string) { some(s.t, s.node) },
	"busy":                      func(s *stage, _ *testscript.TestScript, _ bool, _ []string) { makeBusy(s.t, s.node) },
	"import FILE [NAME=VALUE…]": (*stage).cmdImport,

	// Approvals: ENTRY with a change that waits as APPROVAL, and PAYOUT with the approval ID, whose people have unverified addresses.
	"pending": func(s *stage, ts *testscript.TestScript, _ bool, _ []string) {
		entry, approval := pending(s.t, s.node)
		ts.Setenv("ENTRY", entry)
		ts.Setenv("APPROVAL", approval)
	},
	"unverified": func(s *stage, ts *testscript.TestScript, _ bool, _ []string) {
		payout, approval := s.node.FirstTenant(s.t).Unverified()
		ts.Setenv("PAYOUT", payout)
		ts.Setenv("ID", approval)
	},
	"approve WHO PAYOUT": func(s *stage, _ *testscript.TestScript, _ bool, args []string) {
		waits := s.node.Admin(s.t).Get("/v2/payout-requests/" + args[1]).OK().Text("approval_id")
		s.node.Person(s.t, s.clients[args[0]]).Approve(waits).OK()
	},

	// Payouts: one, and one of a mode about which its rail contradicts itself; send hands those that are due to their rails.
	"payout VARIABLE METHOD CENTS": func(s *stage, ts *testscript.TestScript, _ bool, args []string) {
		ts.Setenv(args[0], paid(s.t, s.node, args[1], int64(number(ts, args[2]))))
	},
	"stuck VARIABLE MODE": func(s *stage, ts *testscript.TestScript, _ bool, args []string) {
		ts.Setenv(args[0], s.node.FirstTenant(s.t).Stuck(args[1]))
	},
	"send": func(s *stage, _ *testscript.TestScript, _ bool, _ []string) { s.node.RunPayouts(s.t) },

	// Signing in: an admin with a passkey, an organization that demands a second factor, the code of an authenticator app, and a
	// device login with CODE and ADDRESS.
	"passkey": func(s *stage, _ *testscript.TestScript, _ bool, _ []string) {
		s.people["admin/passkey"] = &person{email: adminEmail, page: adminWithPasskey(s.t, s.node)}
		s.act("admin/passkey")
	},
	"demand": func(s *stage, _ *testscript.TestScript, _ bool, _ []string) { demand(s.t, s.node) },
	"totp VARIABLE SECRET": func(s *stage, ts *testscript.TestScript, _ bool, args []string) {
		ts.Setenv(args[0], code(s.t, s.node, strings.ReplaceAll(args[1], " ", "")))
	},
	"device": func(s *stage, ts *testscript.TestScript, _ bool, _ []string) {
		code, address := askForCode(s.t, s.node, "v")
		ts.Setenv("CODE", code)
		ts.Setenv("ADDRESS", address)
	},

	// Time, such as 16m or 8d, and what a node does meanwhile: imports and bulk changes, signing of the log, or all of it. happened
	// adds entries to the log at a time before now.
	"clock DURATION": func(s *stage, ts *testscript.TestScript, _ bool, args []string) {
		s.node.Clock.Advance(duration(ts, args[0]))
	},
	"imports":    func(s *stage, _ *testscript.TestScript, _ bool, _ []string) { s.node.RunImports(s.t) },
	"sequence":   func(s *stage, _ *testscript.TestScript, _ bool, _ []string) { s.node.SequenceAudit(s.t) },
	"background": func(s *stage, _ *testscript.TestScript, _ bool, _ []string) { s.node.RunBackground(s.t) },
	"happened AGO N": func(s *stage, ts *testscript.TestScript, _ bool, args []string) {
		happened(s.t, s.store, s.node, duration(ts, args[0]), outcomes(number(ts, args[1]), 0)...)
	},

	// The store: what a query counts, and the recorded refusals of an action in the workspace.
	"count N SQL [ARGUMENT…]": (*stage).cmdCount,
	"denied N ACTION": func(s *stage, ts *testscript.TestScript, _ bool, args []string) {
		if got := denied(s.t, s.node, args[1]); got != number(ts, args[0]) {
			ts.Fatalf("%d refusals are on record", got)
		}
	},

	// Repetition: of a command, and of a line at the end of a file. Verbs such as %02d stand for the number of times before.
	"repeat N COMMAND [ARGUMENT…]": (*stage).cmdRepeat,
	"lines N FILE LINE":            (*stage).cmdLines,
	// last keeps the last part of an address, and clientid the id of the machine client in the last page.
	"last VARIABLE": func(_ *stage, ts *testscript.TestScript, _ bool, args []string) {
		ts.Setenv(args[0], path.Base(ts.Getenv(args[0])))
	},
	"clientid VARIABLE": func(s *stage, ts *testscript.TestScript, _ bool, args []string) {
		ts.Setenv(args[0], regexp.MustCompile(`cli_\w+`).FindString(s.last.body))
	},
}

func (s *stage) cmdAs(ts *testscript.TestScript, _ bool, args []string) {
	var options []browsertest.Option
	for _, arg := range args[1:] {
		name, value, _ := strings.Cut(arg, "=")
		switch name {
		case "-noscripts":
			options = append(options, browsertest.WithoutScripts())
		case "-phone":
			options = append(options, browsertest.Phone())
		case "-language":
			options = append(options, browsertest.Language(value))
		case "-zone":
			options = append(options, browsertest.Zone(value))
		default:
			ts.Fatalf("no option %s", arg)
		}
	}
	s.act(args[0], options...)
}

func (s *stage) cmdPost(ts *testscript.TestScript, _ bool, args []string) {
	s.answered(ts, args[0], s.who.browse(s).post(s.path(args[1]), pairs(ts, args[2:])...))
}

// pairs returns names and values in turn.
func pairs(ts *testscript.TestScript, args []string) (all []string) {
	for _, arg := range args {
		name, value, found := strings.Cut(arg, "=")
		if !found {
			ts.Fatalf("%s is not NAME=VALUE", arg)
		}
		all = append(all, name, value)
	}
	return all
}

// answered keeps an answer and demands its status.
func (s *stage) answered(ts *testscript.TestScript, status string, a answer) {
	s.last = a
	if a.status != number(ts, status) {
		ts.Fatalf("answers %d %s at %s:\n%s", a.status, http.StatusText(a.status), a.path, a.body)
	}
}

func (s *stage) cmdBody(ts *testscript.TestScript, neg bool, args []string) {
	if times, ok := strings.CutPrefix(args[0], "-count="); ok {
		if got := len(regexp.MustCompile(args[1]).FindAllString(s.last.body, -1)); got != number(ts, times) {
			ts.Fatalf("%q is there %d times, in the page at %s:\n%s", args[1], got, s.last.path, s.last.body)
		}
		return
	}
	for _, text := range args {
		if strings.Contains(s.last.body, text) == neg {
			ts.Fatalf("%q is there: %v, in the page at %s:\n%s", text, neg, s.last.path, s.last.body)
		}
	}
}

func (s *stage) cmdLanded(ts *testscript.TestScript, _ bool, args []string) {
	if want := s.path(args[0]); s.last.path != want {
		ts.Fatalf("it ended at %s, want %s", s.last.path, want)
	}
}

func (s *stage) cmdJSON(ts *testscript.TestScript, _ bool, args []string) {
	servertest.ScriptCapture(ts, false, []string{"JSON", args[0]})
	if got := ts.Getenv("JSON"); got != args[1] {
		ts.Fatalf("it is %s, want %s, in %s", got, args[1], ts.ReadFile("stdout"))
	}
}

func (s *stage) cmdExchange(ts *testscript.TestScript, _ bool, args []string) {
	credential := "Bearer " + args[1]
	if len(args) == 3 {
		credential = basic(args[1], args[2])
	}
	a := s.node.Exchange(s.t, credential)
	if a.Status != number(ts, args[0]) {
		ts.Fatalf("answers %d %s", a.Status, a.Body)
	}
	fmt.Fprintf(ts.Stdout(), "%s\n", a.Body)
}

func (s *stage) cmdTenant(ts *testscript.TestScript, _ bool, args []string) {
	x := s.node.Tenant(s.t)
	s.clients[args[0]] = x.Owner
	name := variable(args[0])
	ts.Setenv(name+"_WS", x.WorkspaceID)
	ts.Setenv(name+"_ORG", x.OrganizationID)
	ts.Setenv(name+"_OWNER_ID", x.Owner.UserID)
}

func (s *stage) cmdMethod(ts *testscript.TestScript, _ bool, args []string) {
	var more []servertest.Body
	for _, text := range args[3:] {
		more = append(more, object(ts, text))
	}
	ts.Setenv(args[0], s.node.Admin(s.t).AddMethod(args[1], servertest.Account(args[2], more...)))
}

func (s *stage) cmdImport(ts *testscript.TestScript, _ bool, args []string) {
	file := os.Expand(ts.ReadFile(args[0]), ts.Getenv)
	var imported json.RawMessage
	s.node.Admin(s.t).Import(file, pairs(ts, args[1:])...).Data(&imported)
	fmt.Fprintf(ts.Stdout(), "%s\n", imported)
}

func (s *stage) cmdCount(ts *testscript.TestScript, _ bool, args []string) {
	var with []any
	for _, arg := range args[2:] {
		with = append(with, arg)
	}
	if got := s.node.Count(s.t, args[1], with...); got != number(ts, args[0]) {
		ts.Fatalf("it counts %d", got)
	}
}

func (s *stage) cmdRepeat(ts *testscript.TestScript, _ bool, args []string) {
	for i := range number(ts, args[0]) {
		var now []string
		for _, arg := range args[2:] {
			now = append(now, numbered(arg, i))
		}
		s.commands[args[1]](ts, false, now)
	}
}

func (s *stage) cmdLines(ts *testscript.TestScript, _ bool, args []string) {
	text := ts.ReadFile(args[1])
	for i := range number(ts, args[0]) {
		text += numbered(args[2], i) + "\n"
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(text), 0o600))
}

var verb = regexp.MustCompile(`%0?\d*d`)

// numbered replaces the verbs in a text by a number.
func numbered(text string, i int) string {
	return verb.ReplaceAllStringFunc(text, func(v string) string { return fmt.Sprintf(v, i) })
}

func object(ts *testscript.TestScript, text string) servertest.Body {
	var body servertest.Body
	ts.Check(json.Unmarshal([]byte(os.Expand(text, ts.Getenv)), &body))
	return body
}

func number(ts *testscript.TestScript, text string) int {
	n, err := strconv.Atoi(text)
	ts.Check(err)
	return n
}

func duration(ts *testscript.TestScript, text string) time.Duration {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		return time.Duration(number(ts, days)) * 24 * time.Hour
	}
	d, err := time.ParseDuration(text)
	ts.Check(err)
	return d
}
