package rail

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"bursar/api"
	"bursar/internal/fault"
	"bursar/internal/institution"
)

// Rails are all rails that are configured. They do not change while the program runs, but a node may hold all of them.
type Rails struct {
	list       []*Rail
	connectors []Connector
	held       atomic.Pointer[string]
}

// Config is what Load needs besides the file.
type Config struct {
	// Simulator is the connector of all sandbox rails.
	Simulator Connector
	// Make creates connectors of other kinds, such as iso20022, from their name and settings.
	Make     map[string]func(name string, settings []byte) (Connector, error)
	Holidays Holidays
}

// The form of a rails file. docs/rails.md explains it.
type (
	railsFile struct {
		Connectors map[string]connectorFile `json:"connectors"`
		Rails      []railFile               `json:"rails"`
	}
	connectorFile struct {
		Kind     string         `json:"kind"`
		Settings jsontext.Value `json:"settings"`
	}
	railFile struct {
		Name         string         `json:"name"`
		Title        string         `json:"title"`
		Currency     string         `json:"currency"`
		MinimumCents int64          `json:"minimum_cents"`
		MaximumCents int64          `json:"maximum_cents"`
		Connector    string         `json:"connector"`
		Always       bool           `json:"always"`
		Cycles       []string       `json:"cycles"`
		TimeZone     string         `json:"time_zone"`
		AnswerWithin string         `json:"answer_within"`
		Members      string         `json:"members"`
		Institutions []memberOfFile `json:"institutions"`
	}
	memberOfFile struct {
		Code     string `json:"code"`
		RailCode string `json:"rail_code"`
	}
)

// simulatorName is the name of the simulator in a rails file, which need not define it.
const simulatorName = "simulator"

// shipped returns the rails of the sandbox. A file replaces those of the same name.
func shipped() []railFile {
	return []railFile{
		{Name: "instapay", Title: "InstaPay", Currency: "PHP", MinimumCents: 100, MaximumCents: 5_000_000, Connector: simulatorName, Always: true, Members: "I"},
		{Name: "pesonet", Title: "PESONet", Currency: "PHP", MinimumCents: 100, Connector: simulatorName, Cycles: []string{"10:00", "13:00", "16:00"}, Members: "P"},
	}
}

// Load returns the rails as shipped and those of a file, if one is given.
func Load(file string, c Config) (*Rails, error) {
	var in railsFile
	if file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read the rails: %w", err)
		}
		if in, err = parse(text); err != nil {
			return nil, fmt.Errorf("rails file %s: %w", file, err)
		}
	}
	rails, err := build(in, c)
	if err != nil {
		return nil, fmt.Errorf("rails file %s: %w", file, err)
	}
	return rails, nil
}

func parse(text []byte) (in railsFile, err error) {
	err = json.Unmarshal(text, &in, json.RejectUnknownMembers(true))
	var wrong *json.SemanticError
	if errors.As(err, &wrong) && errors.Is(wrong.Err, json.ErrUnknownName) {
		return in, fmt.Errorf("unknown key %q (at %s)", wrong.JSONPointer.LastToken(), wrong.JSONPointer.Parent())
	}
	return in, err
}

func build(in railsFile, c Config) (*Rails, error) {
	rails := &Rails{connectors: []Connector{c.Simulator}}
	named := map[string]Connector{simulatorName: c.Simulator}
	for name, from := range in.Connectors {
		makeOne, known := c.Make[from.Kind]
		switch {
		case named[name] != nil || !nameForm.MatchString(name):
			return nil, fmt.Errorf("connector %q: the name must be lower-case letters, digits, - and _, and not %s", name, simulatorName)
		case !known:
			return nil, fmt.Errorf("connector %q: there is no kind %q", name, from.Kind)
		}
		made, err := makeOne(name, from.Settings)
		if err != nil {
			return nil, fmt.Errorf("connector %q: %w", name, err)
		}
		named[name] = made
		rails.connectors = append(rails.connectors, made)
	}
	slices.SortFunc(rails.connectors[1:], func(a, b Connector) int { return cmp.Compare(a.Name(), b.Name()) })
	for _, from := range in.Rails {
		made, err := from.rail(named, c.Holidays)
		if err != nil {
			return nil, fmt.Errorf("rail %q: %w", from.Name, err)
		}
		if rails.Named(made.Name, made.Sandbox()) != nil {
			return nil, fmt.Errorf("rail %q is defined twice", from.Name)
		}
		rails.list = append(rails.list, made)
	}
	for _, from := range shipped() {
		made, err := from.rail(named, c.Holidays)
		if err != nil {
			return nil, err
		}
		if rails.Named(made.Name, true) == nil {
			rails.list = append(rails.list, made)
		}
	}
	return rails, nil
}

var (
	nameForm     = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`)
	currencyForm = regexp.MustCompile(`^[A-Z]{3}$`)
)

func (from railFile) rail(named map[string]Connector, holidays Holidays) (*Rail, error) {
	r := &Rail{
		Name: from.Name, Title: from.Title, Currency: from.Currency, Minimum: from.MinimumCents, Maximum: from.MaximumCents,
		Connector: named[from.Connector], Members: from.Members,
	}
	if r.Title == "" {
		r.Title = r.Name
	}
	switch {
	case !nameForm.MatchString(from.Name) || named[from.Name] != nil:
		return nil, errors.New("the name must be lower-case letters, digits, - and _, and not that of a connector")
	case !currencyForm.MatchString(from.Currency):
		return nil, errors.New("currency must be three capital letters")
	case r.Minimum < 1 || r.Maximum != 0 && r.Maximum < r.Minimum:
		return nil, errors.New("minimum_cents must be at least 1, and maximum_cents not below it; without a maximum leave it out")
	case r.Connector == nil:
		return nil, fmt.Errorf("there is no connector %q", from.Connector)
	case from.Always == (len(from.Cycles) > 0):
		return nil, errors.New("give either always or cycles")
	case (from.Members == "") == (len(from.Institutions) == 0):
		return nil, errors.New("give either members or institutions")
	}
	if len(from.Institutions) > 0 {
		r.Codes = map[string]string{}
		for _, i := range from.Institutions {
			if institution.Name(i.Code) == "" {
				return nil, fmt.Errorf("there is no institution with the code %q", i.Code)
			}
			r.Codes[i.Code] = i.Code
			if i.RailCode != "" {
				r.Codes[i.Code] = i.RailCode
			}
		}
	}
	var err error
	if from.AnswerWithin != "" {
		if r.AnswerWithin, err = time.ParseDuration(from.AnswerWithin); err != nil || r.AnswerWithin < time.Second {
			return nil, fmt.Errorf("answer_within: %q is no duration such as 15m or 24h", from.AnswerWithin)
		}
	}
	if !from.Always {
		r.Hours, err = from.hours(holidays)
	}
	return r, err
}

func (from railFile) hours(holidays Holidays) (*Hours, error) {
	if from.TimeZone == "" {
		from.TimeZone = "Asia/Manila"
	}
	zone, err := time.LoadLocation(from.TimeZone)
	if err != nil {
		return nil, fmt.Errorf("time_zone: %w", err)
	}
	h := &Hours{Zone: zone, Holidays: holidays}
	for _, text := range from.Cycles {
		at, err := time.Parse("15:04", text)
		if err != nil {
			return nil, fmt.Errorf("cycles: %q is no time such as 10:00", text)
		}
		h.Cycles = append(h.Cycles, time.Duration(at.Hour())*time.Hour+time.Duration(at.Minute())*time.Minute)
	}
	slices.Sort(h.Cycles)
	return h, nil
}

// Hold stops this node from sending by any rail, for a reason, and resumes it without one.
func (rs *Rails) Hold(reason string) { rs.held.Store(&reason) }

// Held returns why this node sends nothing, or "".
func (rs *Rails) Held() string {
	if reason := rs.held.Load(); reason != nil {
		return *reason
	}
	return ""
}

// All returns all rails: first those of the file, in its order.
func (rs *Rails) All() []*Rail { return rs.list }

// Connectors returns all connectors, the simulator first.
func (rs *Rails) Connectors() []Connector { return rs.connectors }

// HasLive reports whether any rail moves real money.
func (rs *Rails) HasLive() bool {
	return slices.ContainsFunc(rs.list, func(r *Rail) bool { return !r.Sandbox() })
}

// Named returns the rail of a name and a mode, nil if there is none.
func (rs *Rails) Named(name string, sandbox bool) *Rail {
	for _, r := range rs.list {
		if r.Name == name && r.Sandbox() == sandbox {
			return r
		}
	}
	return nil
}

// Choose returns the rail that carries a payment soonest, and the reason as a sentence for people. If two are equally fast, it returns the
// one configured first. An error is a fault.
func (rs *Rails) Choose(currency string, amount int64, to string, sandbox bool, now time.Time) (*Rail, string, error) {
	if institution.Name(to) == "" {
		return nil, "", unknownInstitution(to)
	}
	var reaching []*Rail
	var passed string // why a faster rail was not chosen
	carried := false
	for _, r := range rs.list {
		if r.Sandbox() != sandbox || r.Currency != currency {
			continue
		}
		carried = true
		if r.CodeOf(to) != "" {
			reaching = append(reaching, r)
		} else if r.Hours == nil {
			passed = r.Title + " does not reach " + institution.Name(to)
		}
	}
	if !carried {
		return nil, "", fault.Invalid("currency", "is carried by no rail")
	}
	if len(reaching) == 0 {
		f := fault.New(api.CodeInvalidInstitution, "no rail reaches %s", institution.Name(to))
		f.Details = InstitutionDetails{Institution: to}
		return nil, "", f
	}
	var best *Rail
	var soonest time.Time
	for _, r := range reaching {
		_, arrive := r.Next(now)
		if r.takes(amount) && (best == nil || arrive.Before(soonest)) {
			best, soonest = r, arrive
		}
	}
	if best == nil {
		return nil, "", tightest(reaching, amount)
	}
	for _, r := range reaching {
		if _, arrive := r.Next(now); arrive.Before(soonest) {
			passed = r.Title + " carries " + r.limits()
		}
	}
	why := best.Title + ": " + best.limits() + ", " + best.arrival(now)
	if passed != "" && best.Hours != nil {
		why += " (" + passed + ")"
	}
	return best, why, nil
}

// tightest returns the fault about an amount that no rail carries: by the largest maximum, or by the smallest minimum.
func tightest(list []*Rail, amount int64) error {
	r := slices.MinFunc(list, func(a, b *Rail) int { return cmp.Compare(a.Minimum, b.Minimum) })
	if amount >= r.Minimum {
		r = slices.MaxFunc(list, func(a, b *Rail) int { return cmp.Compare(a.Maximum, b.Maximum) })
	}
	return r.checkAmount(amount)
}

// limits describes the amounts that a rail carries.
func (r *Rail) limits() string {
	if r.Maximum == 0 {
		return "no upper limit"
	}
	return "up to " + api.FormatAmount(r.Maximum, r.Currency)
}

// arrival describes when a payment that is ready now arrives.
func (r *Rail) arrival(now time.Time) string {
	if r.Hours == nil {
		return "arrives at once"
	}
	send, _ := r.Next(now)
	return "is sent on " + send.Format("2 January 2006 at 15:04") + " and arrives the same day"
}
