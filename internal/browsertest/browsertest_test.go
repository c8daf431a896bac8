package browsertest_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bursar/internal/browsertest"
)

func TestMain(m *testing.M) { os.Exit(browsertest.Main(m)) }

const strict = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// site serves pages by path. A path that ends in .js is a script. Every page has the
// same strict content security policy as the console.
func site(t testing.TB, pages map[string]string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, ok := pages[r.URL.Path]
		w.Header().Set("Content-Security-Policy", strict)
		switch {
		case r.URL.Path == "/favicon.ico":
			w.WriteHeader(http.StatusNoContent)
			return
		case r.URL.Path == "/broken":
			w.WriteHeader(http.StatusInternalServerError)
		case r.URL.Path == "/hangup":
			panic(http.ErrAbortHandler)
		case !ok:
			w.WriteHeader(http.StatusNotFound)
			body = document("<p>Nothing here</p>")
		case strings.HasSuffix(r.URL.Path, ".js"):
			w.Header().Set("Content-Type", "text/javascript")
		case strings.HasSuffix(r.URL.Path, ".css"):
			w.Header().Set("Content-Type", "text/css")
		case strings.HasSuffix(r.URL.Path, ".csv"):
			w.Header().Set("Content-Disposition", `attachment; filename="entries.csv"`)
		default:
			body = document(body)
		}
		fmt.Fprint(w, body)
	}))
	t.Cleanup(server.Close)
	return strings.Replace(server.URL, "127.0.0.1", "localhost", 1)
}

func document(body string) string {
	return `<!doctype html><html lang="en"><head><title>A page</title><meta name="viewport" content="width=device-width, initial-scale=1">` +
		`</head><body><main><h1>A page</h1>` + body + `</main></body></html>`
}

func TestWhatIsBrokenFailsTheTest(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		pages map[string]string
		want  string
	}{
		"console error": {
			map[string]string{"/": `<script src="/a.js"></script>`, "/a.js": `console.error("no", 7)`}, "console.error: no 7 at http://localhost",
		},
		"exception": {
			map[string]string{"/": `<script src="/a.js"></script>`, "/a.js": `null.x`}, "exception: Uncaught TypeError",
		},
		"rejected promise": {
			map[string]string{"/": `<script src="/a.js"></script>`, "/a.js": `Promise.reject(new Error("alas"))`}, "alas",
		},
		"inline script": {
			map[string]string{"/": `<script>document.title = "x"</script>`}, "content security policy: script-src-elem",
		},
		"inline style": {
			map[string]string{"/": `<p style="color: red">x</p>`}, "content security policy: style-src-attr",
		},
		"eval": {
			map[string]string{"/": `<script src="/a.js"></script>`, "/a.js": `try { eval("1") } catch {}`}, "content security policy: script-src",
		},
		"missing script": {
			map[string]string{"/": `<script src="/gone.js"></script>`}, "404",
		},
		"failed fetch": {
			map[string]string{"/": `<script src="/a.js"></script>`, "/a.js": `fetch("/broken")`}, "a request was answered 500 at http://localhost",
		},
		"lost connection": {
			map[string]string{"/": `<script src="/a.js"></script>`, "/a.js": `fetch("/hangup").catch(() => 0).then(() => document.title = "over")`},
			"a request failed: net::ERR_EMPTY_RESPONSE",
		},
		"missing page": {nil, "the page answered 404 at http://localhost"},
		"dialog": {
			map[string]string{"/": `<script src="/a.js"></script>`, "/a.js": `alert("boo")`}, "alert dialog: boo",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := site(t, test.pages)
			got := failures(t, func(t testing.TB) {
				page := browsertest.Open(t)
				page.Goto(url)
				if name == "lost connection" || name == "failed fetch" {
					page.Eval(`fetch("/").then((r) => r.text())`, nil)
				}
			})
			if !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q in it", got, test.want)
			}
		})
	}
}

func TestWhatIsExpectedDoesNotFailTheTest(t *testing.T) {
	t.Parallel()
	url := site(t, map[string]string{"/": `<script src="/a.js"></script>`, "/a.js": `console.error("known trouble"); console.warn("hm")`})
	got := failures(t, func(t testing.TB) {
		page := browsertest.Open(t)
		page.ExpectStatus(http.StatusNotFound)
		page.Goto(url + "/gone")
		page.Goto(url)
		page.Allow("known trouble")
	})
	if got != "" {
		t.Errorf("got %q", got)
	}
}

func TestFailuresShowWhatWasSeen(t *testing.T) {
	t.Parallel()
	url := site(t, map[string]string{"/": `<button disabled>Save</button>`})
	got := failures(t, func(t testing.TB) {
		page := browsertest.Open(t)
		page.Goto(url)
		browsertest.Hurry(page)
		page.ClickText("Save")
	})
	for _, want := range []string{`click "Save"`, "is disabled", url, "A page", ".png"} {
		if !strings.Contains(got, want) {
			t.Errorf("got %q, want %q in it", got, want)
		}
	}
	_, picture, _ := strings.Cut(got, "picture: ")
	picture, _, _ = strings.Cut(picture, "\n")
	if _, err := os.Stat(picture); err != nil {
		t.Error(err)
	}
	os.Remove(picture)
}

const form = `<form action="/done" method="get">
<label for="name">Full name <span>*</span></label><input id="name" name="name" required>
<label>Colour <select name="colour"><option value="r">Red</option><option value="g">Green</option></select></label>
<span id="note">Note to all</span><textarea aria-labelledby="note" name="note">old</textarea>
<input aria-label="Start day" type="date" name="day">
<label><input type="checkbox" name="agree"> I agree</label>
<button>Send it</button></form>`

func TestFormsAreFilledByTheirLabels(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]browsertest.Option{"with scripts": nil, "without scripts": {browsertest.WithoutScripts()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := site(t, map[string]string{"/": form, "/done": `<p>Thank you</p>`})
			page := browsertest.Open(t, options...)
			page.Goto(url)
			page.Fill("Full name", "Ada Løve")
			page.Select("Colour", "Green")
			page.Fill("Note to all", "two\nlines")
			page.Fill("Start day", "2024-02-29")
			page.Check("I agree")
			page.Check("I agree")
			if got := page.Value("Full name"); got != "Ada Løve" {
				t.Errorf("the name is %q", got)
			}
			page.ClickText("Send it")
			if got := page.Text("main p"); got != "Thank you" {
				t.Errorf("the click led to %q", got)
			}
			for _, part := range []string{"name=Ada+L", "colour=g", "two%0D%0Alines", "day=2024-02-29", "agree=on"} {
				page.WaitURL(part)
			}
			page.Back()
			if page.WaitText("Send it"); page.Has("#gone") || !page.Has("#name") {
				t.Error("the form did not come back")
			}
			page.Fill("#name", "")
			page.Reload()
		})
	}
}

func TestScriptsCanBeOff(t *testing.T) {
	t.Parallel()
	url := site(t, map[string]string{
		"/":     `<noscript>No scripts here</noscript><p id="p"></p><script src="/a.js"></script>`,
		"/a.js": `document.querySelector("#p").textContent = "Scripts run"`,
	})
	without := browsertest.Open(t, browsertest.WithoutScripts())
	without.Goto(url)
	without.WaitText("No scripts here")
	without.Accessible("a page without scripts")
	without.Reload()
	without.WaitGone("Scripts run")
	with := browsertest.Open(t)
	with.Goto(url)
	with.WaitText("Scripts run")
}

func TestAClickIsFollowed(t *testing.T) {
	t.Parallel()
	pages := map[string]string{"/": `<p id="p"></p><a href="/next">On</a> <a href="#p">Here</a> <a href="/kept">Kept</a><script src="/a.js"></script>`,
		"/next": `<p>next</p><a href="/">Home</a>`,
		"/a.js": `document.querySelector("[href='/kept']").addEventListener("click", (e) => { e.preventDefault(); document.querySelector("#p").textContent = "kept" })`}
	url := site(t, pages)
	page := browsertest.Open(t)
	page.Goto(url)
	for range 5 {
		page.ClickText("On")
		if got := page.Texts("p"); !slices.Equal(got, []string{"next"}) {
			t.Fatalf("after the link there is %q", got)
		}
		page.Click("a")
		page.ClickText("Kept")
		page.ClickText("Here")
		if got := page.Texts("p"); !slices.Equal(got, []string{"kept"}) {
			t.Fatalf("after the way back there is %q", got)
		}
	}
}

func TestAClickIsRepeatedWhenItsTargetHadMovedAway(t *testing.T) {
	t.Parallel()
	page := browsertest.Open(t)
	page.Goto(site(t, map[string]string{
		"/":     `<a href="/next">On</a><script src="/a.js"></script>`,
		"/next": `<p>next</p>`,
		"/a.js": `document.querySelector("a").addEventListener("mousedown", (e) => { e.target.style.marginLeft = "300px" }, { once: true })`,
	}))
	page.ClickText("On")
	page.WaitText("next")
}

func TestEnterIsFollowed(t *testing.T) {
	t.Parallel()
	url := site(t, map[string]string{
		"/":     `<form action="/done"><label>Name <input name="name" required></label><button>Send</button></form><a href="/done">On</a>`,
		"/done": `<p>done</p>`,
	})
	page := browsertest.Open(t)
	page.Goto(url)
	page.Click("input")
	page.Press("Enter") // the form is not sent, because the name is required
	page.Fill("Name", "x")
	page.Press("Enter")
	if got := page.Texts("p"); !slices.Equal(got, []string{"done"}) {
		t.Errorf("Enter in a form led to %q", got)
	}
	page.Goto(url)
	page.KeyboardReaches("a")
	page.Press("Enter")
	if got := page.Texts("p"); !slices.Equal(got, []string{"done"}) {
		t.Errorf("Enter on a link led to %q", got)
	}
}

func TestOnlyTheOpenDialogIsReached(t *testing.T) {
	t.Parallel()
	url := site(t, map[string]string{
		"/": `<button id="open">Delete</button><label>Name <input id="behind"></label>
			<dialog aria-label="Sure?"><label>Name <input id="inside"></label><button id="sure">Delete</button></dialog>
			<p id="p"></p><a href="/favicon.ico">Nothing</a><script src="/a.js"></script>`,
		"/a.js": `const [dialog, p] = ["dialog", "#p"].map((s) => document.querySelector(s));
			document.querySelector("#open").onclick = () => dialog.showModal();
			document.querySelector("#sure").onclick = () => { dialog.close(); p.textContent = "Deleted " + document.querySelector("#inside").value }`,
	})
	page := browsertest.Open(t)
	page.Goto(url)
	page.ClickText("Nothing") // the answer has no content, so the browser stays on the page
	page.ClickText("Delete")
	page.Fill("Name", "Ada")
	page.ClickText("Delete")
	page.WaitText("Deleted Ada")
}

func TestEachPageIsAnotherUser(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/favicon.ico" {
			return
		}
		http.SetCookie(w, &http.Cookie{Name: "who", Value: r.URL.Path[1:], Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
		fmt.Fprint(w, document(""))
	}))
	t.Cleanup(server.Close)
	for _, who := range []string{"a", "b"} {
		page := browsertest.Open(t)
		page.Goto(server.URL + "/" + who)
		cookies := page.Cookies()
		if len(cookies) != 1 || cookies[0].Value != who || !cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteStrictMode {
			t.Errorf("%s has %v", who, cookies)
		}
	}
}

func TestTheUserHasAZoneAScreenAndATaste(t *testing.T) {
	t.Parallel()
	url := site(t, map[string]string{"/": ""})
	page := browsertest.Open(t, browsertest.Phone(), browsertest.Dark(), browsertest.Zone("Asia/Manila"))
	page.Goto(url)
	look := func() string {
		var got string
		page.Eval(`[Intl.DateTimeFormat().resolvedOptions().timeZone, innerWidth, innerHeight,
			matchMedia("(prefers-color-scheme: dark)").matches].join(" ")`, &got)
		return got
	}
	if got := look(); got != "Asia/Manila 375 812 true" {
		t.Errorf("got %s", got)
	}
	page.SetViewport(1000, 700)
	page.SetScheme("light")
	if got := look(); got != "Asia/Manila 1000 700 false" {
		t.Errorf("then %s", got)
	}
}

func TestDownloadsArrive(t *testing.T) {
	t.Parallel()
	url := site(t, map[string]string{"/": `<a href="/entries.csv">Export</a>`, "/entries.csv": "a,b\n"})
	page := browsertest.Open(t)
	page.Goto(url)
	for range 2 {
		name, data := page.DownloadBy(func() { page.ClickText("Export") })
		if name != "entries.csv" || string(data) != "a,b\n" {
			t.Errorf("got %q with %q", name, data)
		}
	}
}

func TestInaccessiblePagesFailUnderAStrictPolicy(t *testing.T) {
	t.Parallel()
	url := site(t, map[string]string{
		"/bad":   `<link rel="stylesheet" href="/a.css"><p class="pale">hardly there</p><input>`,
		"/a.css": `.pale { color: #ccc; background: #fff }`,
		"/good":  `<p>There</p>`,
	})
	got := failures(t, func(t testing.TB) {
		page := browsertest.Open(t)
		page.Goto(url + "/bad")
		page.Accessible("the bad page")
	})
	for _, want := range []string{"the bad page is not accessible", "color-contrast (serious)", "hardly there", "contrastRatio", "label (critical)", "<input>"} {
		if !strings.Contains(got, want) {
			t.Errorf("got %q, want %q in it", got, want)
		}
	}
	if strings.Contains(got, "browser:") {
		t.Errorf("axe itself disturbs the page: %s", got)
	}
	page := browsertest.Open(t)
	page.Goto(url + "/good")
	page.Accessible("the good page")
	page.Accessible("the good page again")
}

func TestWhatIsPaleOnlyInTheDarkFails(t *testing.T) {
	t.Parallel()
	url := site(t, map[string]string{
		"/dark":  `<link rel="stylesheet" href="/a.css"><p class="dim">there in the light</p>`,
		"/a.css": `@media (prefers-color-scheme: dark) { .dim { color: #444; background: #333 } }`,
	})
	got := failures(t, func(t testing.TB) {
		page := browsertest.Open(t)
		page.Goto(url + "/dark")
		page.Accessible("the page")
	})
	if !strings.Contains(got, "the page, on a phone in the dark, is not accessible: color-contrast") || strings.Contains(got, "the page is not accessible") {
		t.Errorf("got %q, want only the contrast in the dark", got)
	}
}

func TestWhatIsUnlabelledAndShownOnlyOnAPhoneFails(t *testing.T) {
	t.Parallel()
	url := site(t, map[string]string{
		"/narrow": `<link rel="stylesheet" href="/a.css"><p>Everywhere</p><input class="narrow">`,
		"/a.css":  `@media (min-width: 600px) { .narrow { display: none } }`,
	})
	got := failures(t, func(t testing.TB) {
		page := browsertest.Open(t)
		page.Goto(url + "/narrow")
		page.Accessible("the page")
	})
	if !strings.Contains(got, "the page, on a phone in the dark, is not accessible: label") || strings.Contains(got, "the page is not accessible") {
		t.Errorf("got %q, want only the label on the phone", got)
	}
}

// The path of both pages is the same but for an id.
func TestNewKindsOfElementsOfAKnownPageAreChecked(t *testing.T) {
	t.Parallel()
	const style = `<link rel="stylesheet" href="/a.css">`
	url := site(t, map[string]string{
		"/of/x_0000000001": style + `<ul><li>Known</li></ul>`,
		"/of/x_0000000002": style + `<ul><li>Known</li></ul><p class="faint">hardly there</p>`,
		"/of/x_0000000003": style + `<ul><li>Known</li><div>No item</div></ul>`,
		"/a.css":           `.faint { color: #ccc; background: #fff }`,
	})
	page := browsertest.Open(t)
	page.Goto(url + "/of/x_0000000001")
	page.Accessible("the first page")
	for path, want := range map[string]string{"/of/x_0000000002": "color-contrast (serious)", "/of/x_0000000003": "list (serious)"} {
		got := failures(t, func(t testing.TB) {
			page := browsertest.Open(t)
			page.Goto(url + path)
			page.Accessible("another page")
		})
		if !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q in it", path, got, want)
		}
	}
}

func TestAPasskeyIsMadeAndUsed(t *testing.T) {
	t.Parallel()
	url := site(t, map[string]string{"/": ""})
	page := browsertest.Open(t)
	page.Goto(url)
	device := page.AddAuthenticator()
	var id string
	page.Eval(`navigator.credentials.create({publicKey: {
		challenge: new Uint8Array(32), rp: {name: "Bursar", id: "localhost"},
		user: {id: new Uint8Array([1, 2, 3]), name: "ada", displayName: "Ada"},
		pubKeyCredParams: [{type: "public-key", alg: -7}],
		authenticatorSelection: {residentKey: "required", userVerification: "required"},
	}}).then((made) => made.id)`, &id)
	made := device.Credentials()
	if len(made) != 1 || made[0].RPID != "localhost" || !made[0].Resident || !slices.Equal(made[0].UserHandle, []byte{1, 2, 3}) {
		t.Fatalf("the device has %+v", made)
	}
	var used string
	const get = `navigator.credentials.get({publicKey: {challenge: new Uint8Array(32), userVerification: "required"}}).then((got) => got.id)`
	page.Eval(get, &used)
	if used != id {
		t.Errorf("made %s, used %s", id, used)
	}
	device.Remove()
	var refused string
	page.Eval(`navigator.credentials.create({publicKey: {challenge: new Uint8Array(32), rp: {name: "x", id: "example.com"},
		user: {id: new Uint8Array([1]), name: "a", displayName: "A"}, pubKeyCredParams: [{type: "public-key", alg: -7}]}}).catch((e) => e.name)`, &refused)
	if refused != "SecurityError" {
		t.Errorf("another site's passkey: %s", refused)
	}
}

func TestTheKeyboardReachesWhatCanHaveTheFocus(t *testing.T) {
	t.Parallel()
	url := site(t, map[string]string{
		"/": `<link rel="stylesheet" href="/a.css"><a id="one" href="/">One</a><button id="two">Two</button>
			<button id="bare">Bare</button><button id="never" tabindex="-1">Never</button><dialog id="d"><p>open</p></dialog>`,
		"/a.css": `#bare { outline: none; box-shadow: none }`,
	})
	page := browsertest.Open(t)
	page.Goto(url)
	for selector, shows := range map[string]bool{"#one": true, "#two": true, "#bare": false} {
		if !page.KeyboardReaches(selector) {
			t.Errorf("the keyboard does not reach %s", selector)
		}
		if page.FocusShows() != shows {
			t.Errorf("the focus on %s: shown is %t", page.Focused(), !shows)
		}
	}
	if page.KeyboardReaches("#never") {
		t.Error("the keyboard reaches #never")
	}
	page.KeyboardReaches("#one")
	page.Press("Shift+Tab")
	page.Press("Enter")
}

func TestPicturesAreTaken(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("BURSAR_SCREENSHOTS", dir)
	url := site(t, map[string]string{"/": strings.Repeat("<p>A long page</p>", 100)})
	page := browsertest.Open(t)
	page.Goto(url)
	page.Shoot("list")
	for _, name := range []string{"list-375-light.png", "list-375-dark.png", "list-1440-light.png", "list-1440-dark.png"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() < 1000 {
			t.Errorf("%s: %v", name, err)
		}
	}
	var width int
	if page.Eval("innerWidth", &width); width != 1280 {
		t.Errorf("the viewport is left at %d", width)
	}
}
