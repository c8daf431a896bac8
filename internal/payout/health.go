package payout

import (
	"context"
	"slices"
	"strings"
	"time"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/institution"
	"bursar/internal/rail"
	"bursar/internal/web"
)

// HealthInput names a service. Without a mode it is the live one, if there is one of that name. The state of a sandbox service is that of
// the given workspace. Without a workspace it is the worst state in those of the caller.
type HealthInput struct {
	ServiceName string  `path:"service_name"`
	WorkspaceID *string `query:"workspace_id"`
	Mode        *string `query:"mode"`
}

// Validate checks the mode.
func (in *HealthInput) Validate(v *fault.Violations) {
	web.CheckOneOf(v, "mode", in.Mode, api.ModeSandbox, api.ModeLive)
}

// service is a rail, a connector or an institution in one mode.
type service struct {
	kind      string
	sandbox   bool
	rail      *rail.Rail     // set for a rail
	connector rail.Connector // set for a rail or a connector
}

// services returns the services of a name, in both modes.
func (s *Service) services(name string) (list []service) {
	for _, sandbox := range []bool{false, true} {
		if r := s.rails.Named(name, sandbox); r != nil {
			list = append(list, service{api.ServiceRail, sandbox, r, r.Connector})
		}
		for _, c := range s.rails.Connectors() {
			if c.Name() == name && c.Sandbox() == sandbox {
				list = append(list, service{kind: api.ServiceConnector, sandbox: sandbox, connector: c})
			}
		}
		if institution.Name(name) != "" && (sandbox || s.rails.HasLive()) {
			list = append(list, service{kind: api.ServiceInstitution, sandbox: sandbox})
		}
	}
	return list
}

// Health returns the state of a rail, a connector or an institution. Every caller of the API may read it. The state in a workspace is for
// its members.
func (s *Service) Health(ctx context.Context, by db.Caller, in HealthInput) (api.ServiceHealth, error) {
	if in.WorkspaceID != nil {
		if _, err := s.authority.Permissions(ctx, by.Actor, *in.WorkspaceID); err != nil {
			return api.ServiceHealth{}, err
		}
	}
	list := s.services(in.ServiceName)
	if in.Mode != nil {
		list = slices.DeleteFunc(list, func(one service) bool { return mode(one.sandbox) != *in.Mode })
	}
	if len(list) == 0 {
		return api.ServiceHealth{}, fault.Missing("service")
	}
	of := list[0]
	var out api.ServiceHealth
	err := s.db.Read(ctx, func(q db.Q) (err error) {
		out, err = s.healthOf(q, of, in.ServiceName, sandboxes{web.Value(in.WorkspaceID), by.ID, by.Scope, by.OneFactor})
		return err
	})
	if err != nil || of.connector == nil {
		return out, err
	}
	if reason := s.rails.Held(); reason != "" {
		out.Status, out.Reason, out.Since = string(rail.Down), reason, 0
		return out, nil
	}
	if is, reason := of.connector.Health(ctx); worse(rail.Status(out.Status), is) {
		out.Status, out.Reason, out.Since = string(is), reason, 0
	}
	return out, nil
}

// sandboxes selects the workspaces whose sandbox services a request is about: one workspace or, without one, all that an account is a
// member of.
type sandboxes struct {
	workspaceID, accountID string
	scope                  audit.Scope // of the account's credential
	oneFactor              bool        // the account is not shown organizations that demand a second factor
}

// addTo adds to a statement the condition that its rows belong to these workspaces.
func (of sandboxes) addTo(sql *db.Statement) {
	if of.workspaceID != "" {
		sql.Add(` AND workspace_id = `, of.workspaceID)
		return
	}
	sql.Add(` AND workspace_id IN (SELECT workspace_id FROM live_member WHERE account_id = `, of.accountID)
	if list := of.scope.WorkspaceList(); list != "" {
		sql.Add(` AND `, list)
		sql.Add(` LIKE '%' || workspace_id || '%'`)
	}
	if of.oneFactor {
		sql.Add(` AND organization_id NOT IN (SELECT id FROM organization WHERE require_second_factor = TRUE)`)
	}
	sql.Add(`)`)
}

// healthOf returns the state of a service according to the store. For a live service the store has only the number of waiting payouts.
func (s *Service) healthOf(q db.Q, of service, name string, in sandboxes) (out api.ServiceHealth, err error) {
	out = api.ServiceHealth{ServiceName: name, Kind: of.kind, Mode: mode(of.sandbox), Status: string(rail.Up)}
	if of.rail != nil && of.rail.Hours != nil {
		next, _ := of.rail.Next(time.UnixMilli(s.db.Now()))
		out.NextWindow = next.UnixMilli()
	}
	if out.QueueDepth, err = s.queued(q, of, name, in); err != nil || !of.sandbox {
		return out, err
	}
	through := name
	if of.rail != nil {
		through = of.connector.Name()
	}
	sql := db.NewStatement(`SELECT status, reason, since FROM simulated_service WHERE service IN (`, name, through)
	sql.Add(`)`)
	in.addTo(sql)
	sql.Add(` ORDER BY since`)
	err = q.EachOf(sql, func(r db.Rows) error {
		if is := r.Text(0); !worse(rail.Status(is), rail.Status(out.Status)) {
			out.Status, out.Reason, out.Since = is, r.Text(1), r.Int(2)
		}
		return nil
	})
	return out, err
}

// worse reports whether the second state of health is worse than the first.
func worse(a, b rail.Status) bool {
	order := []rail.Status{rail.Up, rail.Degraded, rail.Down}
	return slices.Index(order, b) > slices.Index(order, a)
}

// queued counts the payouts that wait for a service: for the sandbox, those of some workspaces, and otherwise those of all.
func (s *Service) queued(q db.Q, of service, name string, in sandboxes) (total int64, err error) {
	for _, r := range s.rails.All() {
		if r.Sandbox() != of.sandbox || of.connector != nil && r.Connector != of.connector || of.rail != nil && r != of.rail {
			continue
		}
		sql := db.NewStatement(`SELECT count(*) FROM (SELECT id FROM payout WHERE status = 'pending' AND mode = `, mode(of.sandbox))
		if of.sandbox {
			// With an index by rail, too many rows would be of other workspaces, or have ended long ago.
			sql.Add(` AND rail || '' = `, r.Name)
			in.addTo(sql)
		} else {
			sql.Add(` AND rail = `, r.Name)
		}
		if of.kind == api.ServiceInstitution {
			sql.Add(` AND institution_code = `, name)
		}
		sql.Add(` LIMIT 10000) waiting`)
		if err := q.EachOf(sql, func(r db.Rows) error {
			total += r.Int(0)
			return nil
		}); err != nil {
			return 0, err
		}
	}
	return min(total, 10_000), nil
}

// InstitutionsInput is a request for the institutions that can be paid, or for those that a rail reaches.
type InstitutionsInput struct {
	Rail *string `query:"rail"`
	web.PageParams
}

// Institutions lists the institutions that can be paid. Every caller of the API may read them.
func (s *Service) Institutions(ctx context.Context, _ db.Caller, in InstitutionsInput) (web.Page[api.Institution], error) {
	if in.Rail != nil && s.rails.Named(*in.Rail, true) == nil && s.rails.Named(*in.Rail, false) == nil {
		return web.Page[api.Institution]{}, fault.Invalid("rail", "is not the name of a rail")
	}
	return web.ReadUnpaged(ctx, s.db, s.cursors, in.PageParams, func(i api.Institution) string { return i.Code },
		func(_ db.Q, after string, take int) ([]api.Institution, error) {
			list := s.reached(in.Rail)
			from, _ := slices.BinarySearchFunc(list, after, func(i api.Institution, code string) int { return strings.Compare(i.Code, code) })
			if from < len(list) && list[from].Code == after {
				from++
			}
			return list[from:min(from+take, len(list))], nil
		}, "institutions", web.Value(in.Rail))
}

// reached lists institutions by their codes, each with the rails that reach it. A live rail represents the sandbox rail of the same name.
func (s *Service) reached(by *string) []api.Institution {
	var list []api.Institution
	for _, i := range institution.All() {
		out := api.Institution{Code: i.Code, Name: i.Name, Kind: i.Kind, Rails: []api.InstitutionRail{}}
		wanted := by == nil
		for _, r := range s.rails.All() {
			code := r.CodeOf(i.Code)
			if code == "" || r.Sandbox() && s.rails.Named(r.Name, false) != nil {
				continue
			}
			out.Rails = append(out.Rails, api.InstitutionRail{Rail: r.Name, Code: code})
			wanted = wanted || *by == r.Name
		}
		if wanted {
			list = append(list, out)
		}
	}
	slices.SortFunc(list, func(a, b api.Institution) int { return strings.Compare(a.Code, b.Code) })
	return list
}
